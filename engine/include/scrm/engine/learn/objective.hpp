/// The learning objective L(θ) = R̂(θ) + λ √(V̂(θ)/n) + l2 |θ|² and its gradient, for one or many problems in one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/row_mask.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

class LearningModel;

enum class Penalty : std::uint8_t {
  se,  ///< λ √(V̂/n)
  sd,  ///< λ √V̂
};

struct ObjectiveRules {
  const Estimator* estimator = &kIpsIxEstimator;  ///< one that has a LearningRule
  double lambda = 0;
  Penalty penalty = Penalty::se;
  double l2 = 0;              ///< ridge on everything but the intercepts
  double alpha = 0;           ///< of estimators that take α
  double clip = 0;            ///< of those that take M
  double smoothing = 0;       ///< λ of RiskForm::smoothed
  double largest_loss = 0;    ///< its c: no loss is above
  double shrinkage = 1e100;   ///< of estimators whose residuals count less where weights are large
  double weight_cap = 1e100;  ///< weights beyond are held there, with no gradient
  /// RiskForm::average: mean_loss + mean(t(w) (y − mean_loss)), the control variate that keeps the sum of the weights
  /// from deciding; the variance is then that of centred losses too.
  bool centre_losses = false;
  bool scale_gradient = false;  ///< also ∂/∂ log scale, last of the gradient; of kinds that have it
  double mean_loss = 0;  ///< ȳ over the rows that count: a constant of RiskForm::labels, a shift that a ratio cancels
};

/// One objective at one point: the policy holds θ. `rows` is null when every row counts.
struct ObjectiveProblem {
  Policy policy;
  ObjectiveRules rules;
  const RowMask* rows = nullptr;
  const LearningModel* model = nullptr;  ///< of RiskForm::model
};

struct ObjectiveValue {
  double objective = 0;
  double risk = 0;
  double penalty = 0;  ///< λ √(V̂/n) or λ √V̂
  double variance = 0;
  double ridge = 0;
  double rows = 0;
  /// Of the weights; none where single labels have their own, or a model stands alone.
  std::optional<double> ess, mean_weight;
  std::vector<double> gradient;
};

/// Values and gradients of all problems, in one pass over the source. Bad rows throw unless `skip_bad_rows`.
std::vector<ObjectiveValue> evaluate_objectives(Source& source, const std::vector<ObjectiveProblem>& problems,
                                                const PassOptions& options, bool skip_bad_rows = false);

}  // namespace scrm
