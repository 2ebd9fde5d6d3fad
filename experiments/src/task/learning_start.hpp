/// Where `learn` starts: a policy of the kind, features and scale that were asked for.
#pragma once

#include <optional>

#include "scrm/engine/pass/source.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "task/learning_task.hpp"

namespace scrm {

struct LearningStart {
  Policy policy;
  std::optional<double> min_scale;  ///< set: the scale is learned, not below this
  bool chose_scale = false;         ///< the scale is half of the logged actions' spread, for want of a better one
  double logged_spread = 0;         ///< of continuous actions (of log a for lognormal), where it was looked at
};

/// The policy of the request, or one at the mean of the logged actions. Where no scale is asked for it is 0.5, or half
/// of the logged actions' spread if that is below 0.8 or above 4. A scale that is learned starts from half of their
/// spread and stays above a tenth of it, unless the request says otherwise: whatever the unit of actions.
LearningStart learning_start(Source& source, const LearningRequest& request, const TaskOptions& task);

/// A usage Error for options that were given and that policies of this kind do not have: they would be left out without
/// a word.
void require_options_of_kind(const LearningRequest& request, const PolicyKindDefinition& kind);

}  // namespace scrm
