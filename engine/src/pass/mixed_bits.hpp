/// mixed_bits: a hash of row and cluster numbers.
#pragma once

#include <cstdint>

namespace scrm {

/// One to one, and every bit of it depends on all bits of the number (the finalizer of SplitMix64).
constexpr std::uint64_t mixed_bits(std::uint64_t number) noexcept {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

}  // namespace scrm
