// Preloaded before the program: a system that starts SCRM_THREADS_ALLOWED threads and refuses every further one, or
// that has SCRM_THREADS_AT_ONCE of them at a time.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

struct Counted {
  void* (*routine)(void*);
  void* argument;
};

std::atomic<int> alive = 0;

void* run_counted(void* given) {
  const Counted counted = *static_cast<Counted*>(given);
  delete static_cast<Counted*>(given);
  void* result = counted.routine(counted.argument);
  --alive;
  return result;
}

}  // namespace

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                              void* argument) noexcept {
  static std::atomic<int> started = 0;
  const char* allowed = std::getenv("SCRM_THREADS_ALLOWED");
  if (allowed != nullptr && started.fetch_add(1) >= std::atoi(allowed)) return EAGAIN;
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  const char* at_once = std::getenv("SCRM_THREADS_AT_ONCE");
  if (at_once == nullptr) return create(thread, attributes, routine, argument);
  if (alive.fetch_add(1) >= std::atoi(at_once)) {
    --alive;
    return EAGAIN;
  }
  return create(thread, attributes, run_counted, new Counted{routine, argument});
}
