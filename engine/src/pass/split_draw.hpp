/// The draws behind every random split of rows.
#pragma once

#include <cstdint>

#include "scrm/kernels/vector/random.hpp"

namespace scrm {

/// Uniform on (0, 1), one for each unit (a row, a context, a cluster) of each split of a seed.
inline double split_draw(std::uint64_t seed, std::uint32_t split, std::uint64_t unit) noexcept {
  // Keeps the draws of splits apart from every other use of a seed.
  constexpr std::uint32_t kSplitStream = 0x5B117000;
  return RandomStream(seed, kSplitStream + split, unit).uniform();
}

}  // namespace scrm
