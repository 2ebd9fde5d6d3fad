/// Empirical likelihood by the Cressie–Read divergence of order −2, in closed form from sums.
#pragma once

#include <utility>

#include "scrm/engine/estimate/interval.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

/// Rows with a control c whose mean is known (a weight: 1; a difference of two weights: 0), and the terms c y.
struct ControlledMoments {
  double rows = 0;
  double mean_control = 0;
  double mean_term = 0;                            ///< of c y
  SquareWeightedMoments square;                    ///< c² and y
  double known_mean = 1;                           ///< of c
  double lowest_control = 0, highest_control = 0;  ///< where c can lie; either may be infinite
};

struct LikelihoodInterval {
  double value = 0, standard_error = 0;
  double low = 0, high = 0;
};

/// Karampatziakis, Langford and Mineiro, "Empirical Likelihood for Contextual Bandits": of all distributions on the
/// rows seen and on one row not seen, in which c has its known mean, the least and the largest mean of c y among those
/// whose divergence from the rows is at most the smallest possible and the level's quantile of F(1, n) over n + 1. The
/// row not seen has the least or the largest control, and the outcome of the range that is worst; the smallest
/// divergence is that with the control on the side that the rows lack. The value is that of the distribution nearest to
/// the rows, its row not seen in the middle of the range.
LikelihoodInterval cressie_read(const ControlledMoments& rows, const OutcomeRange& outcome, double level);

}  // namespace scrm
