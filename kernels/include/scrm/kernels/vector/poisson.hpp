/// Poisson(1) counts of bootstrap replicates, made anew from their key wherever they are needed.
#pragma once

#include <cstdint>

namespace scrm {

/// out[i] = count of unit first + i in a replicate: a function of (seed, replicate, unit) alone. `first` is a multiple
/// of four. Inverts the Poisson distribution function at 32-bit uniforms of Philox4x32-10.
void poisson_counts(std::uint64_t seed, std::uint32_t replicate, std::uint64_t first, int n, double* out) noexcept;

}  // namespace scrm
