#include <cstdint>

/// Highway's library measures the resolution of its timer when it is loaded, for three milliseconds, in case somebody
/// calls its benchmarks. It finds the executable's answer before its own.
namespace hwy::platform {
std::uint64_t TimerResolution() {
  return 1;
}
}  // namespace hwy::platform
