/// The learning objective L(θ) = R̂(θ) + λ √(V̂(θ)/n) + l2 |θ|² and its gradient, for one or many problems in one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/pass.hpp"
#include "scrm/engine/row_mask.hpp"
#include "scrm/engine/source.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

enum class LearningEstimator : std::uint8_t { ips, clipped, snips, ips_ix, additive };

/// "ips", "clipped", "snips", "ips-ix", "additive".
const char* to_string(LearningEstimator estimator) noexcept;
/// Throws a usage Error that lists the names.
LearningEstimator parse_learning_estimator(const std::string& name);

enum class Penalty : std::uint8_t {
  se,  ///< λ √(V̂/n)
  sd,  ///< λ √V̂
};

struct ObjectiveRules {
  LearningEstimator estimator = LearningEstimator::ips_ix;
  double lambda = 0;
  Penalty penalty = Penalty::se;
  double l2 = 0;                  ///< ridge on everything but the intercepts
  double alpha = 0;               ///< of ips-ix and additive
  double clip = 0;                ///< of clipped
  double largest_weight = 1e100;  ///< weights beyond are held there, with no gradient
  double mean_loss = 0;           ///< ȳ over the rows that count: a constant of additive, a shift that snips cancels
};

/// One objective at one point: the policy holds θ. `rows` is null when every row counts.
struct ObjectiveProblem {
  Policy policy;
  ObjectiveRules rules;
  const RowMask* rows = nullptr;
};

struct ObjectiveValue {
  double objective = 0;
  double risk = 0;
  double penalty = 0;  ///< λ √(V̂/n) or λ √V̂
  double variance = 0;
  double ridge = 0;
  double rows = 0;
  std::optional<double> ess;  ///< of the weights; none for additive
  std::vector<double> gradient;
};

/// Values and gradients of all problems, in one pass over the source. Bad rows throw unless `skip_bad_rows`.
std::vector<ObjectiveValue> evaluate_objectives(Source& source, const std::vector<ObjectiveProblem>& problems,
                                                const PassOptions& options, bool skip_bad_rows = false);

}  // namespace scrm
