/// TrainingSums: what the rows to learn from hold, whatever the policy.
#pragma once

#include <cstdint>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/row_mask.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

struct TrainingSums {
  Moments loss;
  std::vector<std::int64_t> action_counts;  ///< rows by category, where they are counted
  Audit audit;
};

/// In one pass over the rows that count (null: all).
TrainingSums training_sums(Source& source, const RowMask* rows, bool count_actions, const PassOptions& pass);

}  // namespace scrm
