/// ConjugateRidge: the ridge model of outcomes by conjugate gradients, without holding its normal equations.
#pragma once

#include <vector>

#include "estimate/model/cross_fitted_ridge.hpp"
#include "estimate/model/folds.hpp"
#include "estimate/model/ridge_shape.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"

namespace scrm {

/// What one fold's rows are predicted by: a row of raw (1, x) weights for each output.
struct ConjugateRidge {
  std::vector<std::vector<double>> theta;  ///< of each fold
  double penalty = 0;                      ///< in rows that say zero; the middle one of the folds'
  FoldRanges ranges = {};                  ///< of the losses that each was fitted to
};

/// Fits q = Σ_o S_o(x) f_o, S linear in (1, x): f = (1, ±bits), (1, u, u²) of continuous actions u in units, or one for
/// the logged category and zero for others. Rows of one context count as what they add to each other. All folds and all
/// penalties of the grid share their passes, a step each. Features count in units of their own standard deviation, or
/// all in one: whichever predicts the first fold better. Folds that are predicted without themselves have a penalty
/// each, chosen without them: by models that leave another fold out too. Where some are on a scale of their own because
/// they say more, as principal components do, the latter is better.
ConjugateRidge fit_conjugate_ridge(Source& source, const RidgeShape& shape, const RidgeUnits& units, const Folds& folds,
                                   const RidgeOptions& options, const PassOptions& pass);

}  // namespace scrm
