/// The sums of weights and those of the difference to the logged actions, in one loop over a block.
#pragma once

#include "scrm/kernels/weights/difference_sums.hpp"

namespace scrm {

/// compute_weight_sums, and compute_difference_sums for the logged actions: in one loop where neither ranges nor an M
/// are asked for and weights are not all near one.
void compute_logged_difference(const Block& block, double* weights, const WeightOptions& options, WeightSums& out,
                               DifferenceSums& difference) noexcept;

}  // namespace scrm
