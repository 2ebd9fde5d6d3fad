#include "learn/replayed_objective.hpp"

#include <algorithm>
#include <array>

#include "learn/objective_value.hpp"
#include "policy/score_matrix.hpp"
#include "policy/theta_gradient.hpp"
#include "scrm/kernels/weights/learning_terms.hpp"
#include "scrm/kernels/weights/replayed_labels.hpp"
#include "scrm/kernels/weights/weights.hpp"

namespace scrm {
namespace {

class ReplayedObjective {
 public:
  ReplayedObjective(Source& source, const ObjectiveProblem& problem, ReplayedWorkspace& workspace)
      : problem_(problem),
        matrix_(problem.policy, source.schema()),
        labels_(problem.policy.outputs),
        workspace_(workspace) {
    workspace.blocks.resize(static_cast<std::size_t>(source.blocks()));
  }

  /// The first pass.
  LearningTerms add_terms(const Block& block) {
    const Pool<PolicyScratch>::Lease scratch = workspace_.scratch.lease();
    std::array<std::uint8_t, kBlockRows> flags;
    if (problem_.rows != nullptr) problem_.rows->expand(block.first_row, kBlockRows, flags.data());
    ReplayedBlock& kept = cached_terms(block);
    kept.reserve(3 + labels_ * (mixed() ? 2 : 1));
    LabelLogOdds odds = odds_of(kept);
    odds.log_odds = scratch->columns(PolicyScratch::kCallerSlot, labels_ + 1);
    odds.log_none = odds.log_odds + static_cast<std::int64_t>(labels_) * kBlockRows;
    matrix_.context_scores(block, odds.log_odds);
    label_log_odds(context_rows(block), labels_, problem_.policy.epsilon, odds);
    replayed_log_probability(block, odds, kept.weights());
    weights_from_log_density(block, kept.weights(), kept.weights());
    const LearningTerms terms = weighted_terms(block, problem_.rows != nullptr ? flags.data() : nullptr, problem_.rules,
                                               kept.weights(), kept.slope(), kept.spread());
    kept.variance_mean = terms.variance.mean;
    return terms;
  }

  /// The second.
  void add_gradient(const Block& block, const GradientFactors& factors, double variance_mean, double* out) {
    const Pool<PolicyScratch>::Lease scratch = workspace_.scratch.lease();
    const ReplayedBlock& kept = cached_terms(block);
    const RowFactors row_factors = {.ratio = risk_form(problem_) == RiskForm::ratio,
                                    .risk = factors.risk,
                                    .mean_loss = problem_.rules.mean_loss,
                                    .shift = factors.shift,
                                    .variance = factors.variance,
                                    .moved = kept.variance_mean - variance_mean,
                                    .weight_cap = problem_.rules.weight_cap};
    alignas(kColumnAlignment) double row[kBlockRows];
    row_coefficients(block, row_factors, kept.weights(), kept.slope(), kept.spread(), row);
    double* coefficients = scratch->columns(PolicyScratch::kCallerSlot, labels_ + 1);
    replayed_coefficients(block, odds_of(kept), row, coefficients);
    shared_context_gradient(block, coefficients, labels_, *scratch, out);
  }

 private:
  bool mixed() const { return problem_.policy.epsilon > 0; }
  ReplayedBlock& cached_terms(const Block& block) {
    return workspace_.blocks[static_cast<std::size_t>(block.first_row / kBlockRows)];
  }
  LabelLogOdds odds_of(const ReplayedBlock& kept) const {
    LabelLogOdds odds;
    odds.unset_gradient = kept.column(3);
    if (mixed()) odds.log_odds_gradient = kept.column(3 + labels_);
    return odds;
  }

  const ObjectiveProblem& problem_;
  ScoreMatrix matrix_;
  int labels_;
  ReplayedWorkspace& workspace_;
};

}  // namespace

bool shares_contexts(const Schema& schema, const ObjectiveProblem& problem) {
  const Policy& policy = problem.policy;
  return schema.replays > 1 && policy.kind == PolicyKind::multilabel &&
         (risk_form(problem) == RiskForm::average || risk_form(problem) == RiskForm::ratio) &&
         (policy.epsilon == 0 || policy.mixing == Mixing::label);
}

ObjectiveValue evaluate_replayed(Source& source, const ObjectiveProblem& problem, const PassOptions& options,
                                 bool skip_bad_rows, ReplayedWorkspace& workspace) {
  ReplayedObjective objective(source, problem, workspace);
  const auto [terms, audit] = run_pass(
      source, LearningTerms{}, [&](const Block& block, LearningTerms& out) { out = objective.add_terms(block); },
      [](LearningTerms& a, const LearningTerms& b) {
        a.risk.merge(b.risk);
        a.variance.merge(b.variance);
        a.weight.merge(b.weight);
      },
      options);
  if (!skip_bad_rows) require_no_bad_rows(audit);
  const GradientFactors factors = gradient_factors(problem.rules, terms);
  const double mean = terms.variance.mean;
  using Gradient = std::vector<double>;
  auto [gradient, again] = run_pass(
      source, Gradient(problem.policy.theta.size()),
      [&, factors = factors, mean = mean](const Block& block, Gradient& out) {
        objective.add_gradient(block, factors, mean, out.data());
      },
      [](Gradient& a, const Gradient& b) {
        for (std::size_t j = 0; j < a.size(); ++j) a[j] += b[j];
      },
      options);
  return objective_value(problem, terms, std::move(gradient));
}

}  // namespace scrm
