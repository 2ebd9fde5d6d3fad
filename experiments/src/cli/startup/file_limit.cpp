#include "cli/startup/file_limit.hpp"

#include <sys/resource.h>

namespace scrm {

void raise_file_limit() noexcept {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // where it is refused, the old limit holds
}

}  // namespace scrm
