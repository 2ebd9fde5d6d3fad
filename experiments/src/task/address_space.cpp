#include "task/address_space.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "scrm/engine/schedule/human_bytes.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

std::optional<std::size_t> address_space_left() {
  // In pages: all, resident, shared, text, nothing, data.
  std::size_t pages[6] = {};
  std::ifstream statm("/proc/self/statm");
  for (std::size_t& number : pages) statm >> number;
  if (!statm) return std::nullopt;
  std::optional<std::size_t> least;
  for (const auto& [resource, taken] : {std::pair{RLIMIT_AS, pages[0]}, std::pair{RLIMIT_DATA, pages[5]}}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    const std::size_t used = taken * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t left = limit.rlim_cur - std::min<std::size_t>(used, limit.rlim_cur);
    least = std::min(least.value_or(left), left);
  }
  return least;
}

std::size_t memory_in_address_space(std::size_t memory) {
  const std::optional<std::size_t> space = address_space_left();
  if (!space) return memory;
  if (*space < kLeastAddressSpace) {
    throw Error(
        ErrorKind::run,
        fmt::format("the address space is limited (ulimit -v or -d) and {} of it are left, where {} are needed; raise "
                    "the limit",
                    human_bytes(static_cast<double>(*space)), human_bytes(static_cast<double>(kLeastAddressSpace))));
  }
  return std::min(memory, *space / 4);
}

int threads_in_address_space(int threads) {
  const std::optional<std::size_t> space = address_space_left();
  if (!space) return threads;
  const std::size_t room = std::min<std::size_t>(*space / 2 / kThreadAddressSpace, 1 << 16);
  return std::min(threads, std::max(1, static_cast<int>(room)));
}

}  // namespace scrm
