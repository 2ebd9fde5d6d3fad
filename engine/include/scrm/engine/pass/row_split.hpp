/// Random splits of a source's rows, in which rows that depend on each other stay together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/row_mask.hpp"

namespace scrm {

/// What a split draws for.
enum class SplitUnit : std::uint8_t {
  row,     ///< rows one by one, or all that share a context
  cluster  ///< all rows of a cluster
};

/// Clusters where rows have them. Rows of one user on both sides of a split would make what was learned by heart look
/// like what holds for others.
SplitUnit split_unit(const Schema& schema) noexcept;

/// One mask for each split: every unit is in with probability `share`, by a draw keyed by (seed, split, unit). Clusters
/// take a pass; bad rows are left to whoever reads the rows next.
std::vector<RowMask> split_rows(Source& source, SplitUnit unit, double share, std::uint64_t seed,
                                std::span<const std::uint32_t> splits, const PassOptions& pass);

/// The rows to learn from when this share of all is held out for judging; kept apart from the splits that choose λ.
RowMask training_rows(Source& source, SplitUnit unit, double holdout, std::uint64_t seed, const PassOptions& pass);

}  // namespace scrm
