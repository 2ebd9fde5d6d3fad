#include "cli/startup/thread_reserve.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "task/address_space.hpp"

// Sanitizers have a pthread_create of their own, which has to see every thread begin.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SCRM_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SCRM_SANITIZED
#endif
#endif

#if defined(SCRM_SANITIZED)

namespace scrm {

ReservedThreads reserve_threads(int count) {
  return {.started = count};
}

int run_with_enough_stack(const std::function<int()>& program) {
  return program();
}

}  // namespace scrm

#else

namespace scrm {
namespace {

using Routine = void* (*)(void*);
using Create = int (*)(pthread_t*, const pthread_attr_t*, Routine, void*);

// TBB's own choice on 64 bits; threads that want more are made as ever.
constexpr std::size_t kStackBytes = std::size_t{4} << 20U;

/// A thread that sleeps until it is given something to run.
struct ParkedThread {
  pthread_t thread{};
  Routine routine = nullptr;
  void* argument = nullptr;
  ParkedThread* next = nullptr;
};

// Plain and never destroyed: threads that were not needed sleep on them while the program exits, and libraries make
// threads before main.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
ParkedThread* parked = nullptr;

void* run_parked(void* self) {
  auto& own = *static_cast<ParkedThread*>(self);
  pthread_mutex_lock(&mutex);
  while (own.routine == nullptr) pthread_cond_wait(&woken, &mutex);
  pthread_mutex_unlock(&mutex);
  return own.routine(own.argument);
}

int create_thread(pthread_t* thread, const pthread_attr_t* attributes, Routine routine, void* argument) {
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create == nullptr ? EAGAIN : create(thread, attributes, routine, argument);
}

struct Call {
  const std::function<int()>& program;
  int exit_code;
};

void* run_call(void* argument) {
  auto& call = *static_cast<Call*>(argument);
  call.exit_code = call.program();
  return nullptr;
}

int park_another_thread(const pthread_attr_t& attributes) {
  auto* place = new (std::nothrow) ParkedThread;
  if (place == nullptr) return ENOMEM;
  if (const int error = create_thread(&place->thread, &attributes, run_parked, place); error != 0) {
    delete place;
    return error;
  }
  pthread_mutex_lock(&mutex);
  place->next = parked;
  parked = place;
  pthread_mutex_unlock(&mutex);
  return 0;
}

/// Gives the routine to a parked thread; false where there is none with a stack as large.
bool run_on_parked_thread(pthread_t* thread, const pthread_attr_t* attributes, Routine routine, void* argument) {
  std::size_t stack_bytes = 0;
  if (attributes != nullptr) pthread_attr_getstacksize(attributes, &stack_bytes);
  pthread_mutex_lock(&mutex);
  ParkedThread* taken = stack_bytes <= kStackBytes ? parked : nullptr;
  if (taken != nullptr) {
    parked = taken->next;
    *thread = taken->thread;
    taken->argument = argument;
    taken->routine = routine;
    pthread_cond_broadcast(&woken);
  }
  pthread_mutex_unlock(&mutex);
  return taken != nullptr;
}

}  // namespace

ReservedThreads reserve_threads(int count) {
  ReservedThreads result;
  pthread_attr_t attributes;
  const int asked = count;
  if (address_space_left()) {
    count = threads_in_address_space(count + 1) - 1;
    mallopt(M_ARENA_MAX, 1);  // every further heap would reserve 64 MB
  }
  result.error = pthread_attr_init(&attributes);
  if (result.error != 0) return result;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  while (result.started < count && result.error == 0) {
    result.error = park_another_thread(attributes);
    result.started += result.error == 0;
  }
  pthread_attr_destroy(&attributes);
  if (result.error == 0 && count < asked) result.error = ENOMEM;
  return result;
}

int run_with_enough_stack(const std::function<int()>& program) {
  rlimit limit{};
  Call call{program, 0};
  pthread_t thread{};
  pthread_attr_t attributes;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kStackBytes || pthread_attr_init(&attributes) != 0)
    return program();
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const bool started = create_thread(&thread, &attributes, run_call, &call) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) return program();
  pthread_join(thread, nullptr);
  return call.exit_code;
}

}  // namespace scrm

/// Stands before the system's: a symbol of the executable is found before those of libraries, so that TBB calls this.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                              void* argument) noexcept {
  if (scrm::run_on_parked_thread(thread, attributes, routine, argument)) return 0;
  return scrm::create_thread(thread, attributes, routine, argument);
}

#endif
