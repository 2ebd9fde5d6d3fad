/// Sums of scores and values with the signs of bits, for models that are linear in ±bits and rows that share contexts.
#pragma once

#include <cstdint>

namespace scrm {

/// rows[i] += scores[i / replays], or −= where bits[i] is 0, for the `replays` rows of each context; replays is a power
/// of two. `rows` is a column of a block.
void add_signed_scores(const std::uint8_t* bits, const double* scores, int contexts, int replays,
                       double* rows) noexcept;

/// out[c] = Σ ±rows[i] over the rows of context c, with the signs of bits[i].
void signed_context_sums(const std::uint8_t* bits, const double* rows, int contexts, int replays, double* out) noexcept;

}  // namespace scrm
