#include "task/memory_size.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"

namespace scrm {
namespace {

/// Bytes in one unit; 0 when there is no such unit. As in the GNU tools, M is 2^20 and MB is 10^6.
double unit_bytes(std::string unit) {
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::toupper(c); });
  if (unit.empty() || unit == "B") return 1;
  const std::size_t power = std::string("KMGT").find(unit.front());
  if (power == std::string::npos) return 0;
  const std::string rest = unit.substr(1);
  if (rest.empty() || rest == "IB") return std::pow(1024.0, static_cast<double>(power) + 1);
  return rest == "B" ? std::pow(1000.0, static_cast<double>(power) + 1) : 0;
}

}  // namespace

std::size_t machine_memory() {
  std::size_t bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::size_t limit = 0;
    if (std::ifstream(file) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

std::size_t parse_size(const std::string& text) {
  const auto fail_size = [&](const char* why) -> std::size_t {
    throw Error(ErrorKind::usage, fmt::format("size '{}' {}; write for instance 512M, 4G or 1.5GiB", text, why));
  };
  const std::size_t digits = std::min(text.find_first_not_of("+-.0123456789"), text.size());
  const std::optional<double> number = parse_double(text.substr(0, digits));
  if (!number) return fail_size("is not a number with a unit");
  const double unit = unit_bytes(text.substr(std::min(text.find_first_not_of(" \t", digits), text.size())));
  if (unit == 0) return fail_size("has a unit that is none of K, M, G, T");
  const double bytes = std::floor(*number * unit);
  if (bytes < 1) return fail_size("is less than one byte");
  if (bytes >= static_cast<double>(std::numeric_limits<std::int64_t>::max()))
    return fail_size("is larger than any machine");
  return static_cast<std::size_t>(bytes);
}

}  // namespace scrm
