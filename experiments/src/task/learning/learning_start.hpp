/// Where `learn` starts: a policy of the kind, features and scale that were asked for.
#pragma once

#include <optional>

#include "scrm/engine/pass/row_mask.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "task/learning/learning_task.hpp"

namespace scrm {

struct LearningStart {
  Policy policy;
  std::optional<double> min_scale;  ///< set: the scale is learned, not below this
  bool chose_scale = false;         ///< the scale is half of the logged actions' spread, for want of a better one
  /// Of continuous actions (of log a for lognormal), where it was looked at: around the regression, if it is one.
  double logged_spread = 0;
  /// Set: it is at a regression of the logged actions on the features, which explains this share of their variance.
  std::optional<double> explained;
};

/// The policy of the request, or one at the mean of the logged actions. Where no scale is asked for it is 0.5, or half
/// of the logged actions' spread if that is below 0.8 or above 4. A scale that is learned starts from half of their
/// spread and stays above a tenth of it, unless the request says otherwise: whatever the unit of actions.
LearningStart learning_start(Source& source, const LearningRequest& request, const TaskOptions& task);

/// Moves a start that the request does not give to a regression of the logged actions on the data's own features (the
/// first `features` of the context), where that leaves less than half of their spread; a scale that is not asked for
/// follows by the same rule from what is left. `training` are the rows to look at (null: all). Where actions follow the
/// context a policy with one mean for all has weights of zero on most rows, and a search from there goes anywhere.
void start_from_regression(Source& source, const RowMask* training, std::int64_t features,
                           const LearningRequest& request, const TaskOptions& task, LearningStart& start);

/// A usage Error for options that were given and that policies of this kind do not have: they would be left out without
/// a word.
void require_options_of_kind(const LearningRequest& request, const PolicyKindDefinition& kind);

}  // namespace scrm
