/// The built-in model of outcomes: a ridge regression on contexts and actions, fitted across folds.
#pragma once

#include <memory>

#include "scrm/engine/estimate/outcome_model.hpp"
#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/row_mask.hpp"
#include "scrm/engine/pass/source.hpp"

namespace scrm {

struct RidgeOptions {
  bool skip_bad_rows = false;
  const RowMask* rows = nullptr;  ///< rows to fit to; null: all
  /// Each row is predicted without it. Else the folds choose the penalty alone, and one model of all rows predicts: for
  /// those who trust it without looking at residuals.
  bool cross_fitted = true;
  /// What helps where the model does not fit into memory; who asks for one knows what would do in its place.
  const char* memory_help = "fewer features";
};

/// Features are (1, x) ⊗ (1, a, a²) of continuous actions, (1, x) ⊗ (1, ±bits) of multilabel ones, and (1, x) with a
/// regression for each categorical action, all in units of the first rows' standard deviations. Rows fall into five
/// folds (by a hash of their number, or of their cluster's), and each is predicted by the other four. The penalty of a
/// fold is the one of a grid whose predictions of the others, each left out in turn, are best: it does not look at the
/// fold it is used on. Each categorical action has its own, and what is
/// predicted of it stays within the losses of the rows it was fitted to.
///
/// One pass, in which the normal equations of every fold are summed up; more where those of all actions do not fit the
/// memory. Rows that share contexts and sparse ones are fitted by conjugate gradients instead, a pass a step: penalties
/// are chosen likewise, one for all actions, intercepts are hardly penalised, and features count in their own units or
/// in a common one, whichever predicts the first fold better (the one choice that looks at rows it is used on). Throws
/// on zero rows, and on bad rows unless they are skipped.
std::shared_ptr<const OutcomeModel> fit_ridge_model(Source& source, const RidgeOptions& options,
                                                    const PassOptions& pass);

}  // namespace scrm
