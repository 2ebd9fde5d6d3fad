/// Where a search that learns with a model may begin: at the policy that does what the model thinks best.
#pragma once

#include "scrm/engine/learn/objective.hpp"
#include "scrm/engine/pass/pass.hpp"

namespace scrm {

/// The problem's own policy, or, where its objective is less, one that follows the model's own scores, more or less
/// decidedly. What is learned with a model is flat wherever a policy is all but certain, so that a search from what was
/// learned before need not find its way. Bits and categories whose model is linear; others begin where they are.
Policy best_start(Source& source, const ObjectiveProblem& problem, const PassOptions& pass, bool skip_bad_rows);

}  // namespace scrm
