#include "scrm/engine/schedule/human_bytes.hpp"

#include <fmt/format.h>

#include <array>

namespace scrm {

std::string human_bytes(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  // 1,023.95 would be rounded up to 1,024.0 of the smaller unit.
  while (bytes >= (unit == 0 ? 1024 : 1023.95) && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace scrm
