/// How λ is chosen by rows that are held out.
#pragma once

#include <memory>
#include <vector>

#include "scrm/engine/learn/learn.hpp"

namespace scrm {

/// PROTOCOL: three random 75/25 splits; every λ learns on the larger part and is scored, without penalty, on the other.
std::vector<LambdaScore> score_lambdas(Source& source, const ObjectiveProblem& problem, const LearnOptions& options,
                                       const PassOptions& pass);

/// The ridge model of the rows that count.
std::shared_ptr<const OutcomeModel> fit_model(Source& source, const RowMask* rows, const LearnOptions& options,
                                              const PassOptions& pass);

}  // namespace scrm
