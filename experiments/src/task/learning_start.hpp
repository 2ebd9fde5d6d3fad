/// Where `learn` starts: a policy of the kind, features and scale that were asked for.
#pragma once

#include <optional>

#include "scrm/engine/pass/source.hpp"
#include "task/learning_task.hpp"

namespace scrm {

struct LearningStart {
  Policy policy;
  std::optional<double> min_scale;  ///< set: the scale is learned, not below this
};

/// The policy of the request, or one at the mean of the logged actions. A scale that is learned starts from half of
/// their spread and stays above a tenth of it, unless the request says otherwise: whatever the unit of actions.
LearningStart learning_start(Source& source, const LearningRequest& request, const TaskOptions& task);

}  // namespace scrm
