// Preloaded before the program: a system that starts SCRM_THREADS_ALLOWED threads and refuses every further one.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                              void* argument) noexcept {
  static std::atomic<int> started = 0;
  const char* allowed = std::getenv("SCRM_THREADS_ALLOWED");
  if (allowed != nullptr && started.fetch_add(1) >= std::atoi(allowed)) return EAGAIN;
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, routine, argument);
}
