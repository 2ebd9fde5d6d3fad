/// How λ and the ridge are chosen by rows that are held out.
#pragma once

#include <memory>
#include <vector>

#include "scrm/engine/learn/learn.hpp"

namespace scrm {

/// λ and ridge of a policy.
struct PenaltyPair {
  double lambda = 0, l2 = 0;
  std::vector<Policy> on_parts = {};  ///< where the splits chose the λ: what they found with it
};

/// Those of every policy that is wanted. What is automatic is found on three random 75/25 splits (PROTOCOL): every
/// candidate learns on the larger part and is scored, without penalties, on the other. The scores go into the report,
/// which knows the losses.
std::vector<PenaltyPair> choose_penalties(Source& source, const ObjectiveProblem& problem, const LearnOptions& options,
                                          const PassOptions& pass, LearnReport& report);

/// The ridge model of the rows that count.
std::shared_ptr<const OutcomeModel> fit_model(Source& source, const RowMask* rows, const LearnOptions& options,
                                              const PassOptions& pass);

}  // namespace scrm
