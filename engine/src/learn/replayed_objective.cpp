#include "learn/replayed_objective.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "learn/objective_value.hpp"
#include "pass/pool.hpp"
#include "policy/score_matrix.hpp"
#include "policy/theta_gradient.hpp"
#include "scrm/kernels/aligned_array.hpp"
#include "scrm/kernels/replayed_labels.hpp"
#include "scrm/kernels/weights.hpp"

namespace scrm {
namespace {

/// What the first pass leaves of a block for the second.
struct BlockTerms {
  /// Columns of weights, slopes of the risk, variance terms around the block's mean; then `unset_gradient` and, with
  /// mixing, `log_odds_gradient` of every label.
  AlignedArray<double> columns;
  double variance_mean = 0;

  double* column(std::int64_t index) const { return columns.get() + index * kBlockRows; }
  void allocate(std::int64_t count) {
    columns = make_aligned_for_overwrite<double>(static_cast<std::size_t>(count) * kBlockRows);
  }
  double* weights() const { return column(0); }
  double* slope() const { return column(1); }
  double* spread() const { return column(2); }
};

class ReplayedObjective {
 public:
  ReplayedObjective(Source& source, const ObjectiveProblem& problem)
      : problem_(problem),
        matrix_(problem.policy, source.schema()),
        labels_(problem.policy.outputs),
        blocks_(static_cast<std::size_t>(source.blocks())) {}

  /// The first pass.
  LearningTerms add_terms(const Block& block) {
    const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
    std::array<std::uint8_t, kBlockRows> flags;
    if (problem_.rows != nullptr) problem_.rows->expand(block.first_row, kBlockRows, flags.data());
    BlockTerms& kept = cached_terms(block);
    kept.allocate(3 + labels_ * (mixed() ? 2 : 1));
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
    const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
    const BlockTerms& kept = cached_terms(block);
    const bool ratio = risk_form(problem_) == RiskForm::ratio;
    const double moved = kept.variance_mean - variance_mean;
    alignas(kColumnAlignment) double row[kBlockRows];
    for (int i = 0; i < kBlockRows; ++i) {
      const double w = kept.weights()[i], slope = kept.slope()[i];
      const double risk = ratio ? w * ((block.loss[i] - problem_.rules.mean_loss) - factors.shift) : slope;
      const double g = factors.risk * risk + factors.variance * (kept.spread()[i] + moved) * slope;
      // Rows that do not count may hold a loss that is no number.
      row[i] = w != 0 ? g : 0;
    }
    double* coefficients = scratch->columns(PolicyScratch::kCallerSlot, labels_ + 1);
    replayed_coefficients(block, odds_of(kept), row, coefficients);
    shared_context_gradient(block, coefficients, labels_, *scratch, out);
  }

 private:
  bool mixed() const { return problem_.policy.epsilon > 0; }
  BlockTerms& cached_terms(const Block& block) {
    return blocks_[static_cast<std::size_t>(block.first_row / kBlockRows)];
  }
  LabelLogOdds odds_of(const BlockTerms& kept) const {
    LabelLogOdds odds;
    odds.unset_gradient = kept.column(3);
    if (mixed()) odds.log_odds_gradient = kept.column(3 + labels_);
    return odds;
  }

  const ObjectiveProblem& problem_;
  ScoreMatrix matrix_;
  int labels_;
  std::vector<BlockTerms> blocks_;
  Pool<PolicyScratch> scratch_;
};

}  // namespace

bool shares_contexts(const Schema& schema, const ObjectiveProblem& problem) {
  const Policy& policy = problem.policy;
  return schema.replays > 1 && policy.kind == PolicyKind::multilabel && risk_form(problem) != RiskForm::labels &&
         (policy.epsilon == 0 || policy.mixing == Mixing::label);
}

ObjectiveValue evaluate_replayed(Source& source, const ObjectiveProblem& problem, const PassOptions& options,
                                 bool skip_bad_rows) {
  ReplayedObjective objective(source, problem);
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
