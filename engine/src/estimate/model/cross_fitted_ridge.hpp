/// cross_fitted_ridge: the model of outcomes that linear functions of contexts make, one set of them for each fold.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "estimate/model/folds.hpp"
#include "estimate/model/ridge_equations.hpp"
#include "policy/score_matrix.hpp"
#include "scrm/engine/estimate/outcome_model.hpp"

namespace scrm {

/// Of the rows that each fold's regressions were fitted to.
using FoldRanges = std::array<LossRange, Folds::kCount>;

/// `matrices` are those of the folds, in the losses' own units. `by_columns`: contexts do not lie there for each row by
/// itself, so that logged actions are looked up among all. `ranges` hold the predictions of categorical actions.
std::shared_ptr<const OutcomeModel> cross_fitted_ridge(const RidgeShape& shape, const RidgeUnits& units,
                                                       const Folds& folds, std::vector<ScoreMatrix> matrices,
                                                       double penalty, bool by_columns, const FoldRanges& ranges);

}  // namespace scrm
