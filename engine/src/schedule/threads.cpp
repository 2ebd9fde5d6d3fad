#include "scrm/engine/schedule/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace scrm {

// Not asked of TBB, whose first answer looks through the whole machine: the program's --version has no time for that.
int resolve_threads(int requested) noexcept {
  if (requested > 0) return requested;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace scrm
