/// as_rewards: results about losses in the sign of the rewards that the data holds.
#pragma once

#include "scrm/engine/estimate/evaluate.hpp"

namespace scrm {

Moments as_rewards(const Moments& losses);
Estimate as_rewards(const Estimate& losses);
/// All values and intervals of a report; weights and standard errors have no sign.
EvaluationReport as_rewards(EvaluationReport losses);

}  // namespace scrm
