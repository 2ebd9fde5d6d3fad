#include "scrm/engine/learn/objective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "learn/model/learning_model.hpp"
#include "learn/model/model_terms.hpp"
#include "learn/objective_value.hpp"
#include "learn/replayed_objective.hpp"
#include "pass/pass_plan.hpp"
#include "pass/pool.hpp"
#include "policy/context_panel.hpp"
#include "policy/kinds/policy_kinds.hpp"
#include "policy/score_matrix.hpp"
#include "policy/score_tiles.hpp"
#include "policy/theta_gradient.hpp"
#include "scrm/kernels/weights/gaussian_terms.hpp"
#include "scrm/kernels/weights/learning_terms.hpp"
#include "scrm/kernels/weights/weights.hpp"

namespace scrm {
namespace {

/// Whether gaussian_terms applies.
bool has_fused_terms(const Block& block, const ObjectiveProblem& problem) {
  return problem.policy.kind == PolicyKind::gaussian && problem.policy.features == FeatureMap::linear &&
         !problem.rules.scale_gradient && risk_form(problem) == RiskForm::average &&
         problem.rules.estimator->transform != WeightTransform::given && has_fused_weights(block) &&
         block.features <= kMaxGaussianTermsFeatures;
}

/// Sums behind the gradient by some parameters. `risk` is Σ ∂(terms), for a ratio Σ w (y − ȳ) ∂log π; `weight` is
/// Σ w ∂log π (ratio; else null); `variance` is Σ (z − z̄) ∂z, z̄ the variance terms' mean over the same blocks, so that
/// nothing large is ever subtracted from something large.
template <class Number>
struct GradientSums {
  Number *risk, *variance, *weight;
  std::size_t size;

  /// ∂ of the sum of variance terms, from which `variance` is centred anew when means move.
  double variance_slope(double mean_loss, std::size_t j) const {
    return weight != nullptr ? risk[j] + mean_loss * weight[j] : risk[j];
  }
};

/// Sums of one problem over some blocks: terms, and gradients by θ and, where it is asked for, by log scale.
class ProblemSums {
 public:
  ProblemSums(std::size_t size, bool ratio) : size_(size), has_weight_(ratio), gradients_((ratio ? 3 : 2) * size) {}

  LearningTerms terms;

  std::size_t size() const { return size_; }
  bool has_weight() const { return has_weight_; }
  GradientSums<double> by_theta() { return {risk_gradient(), variance_gradient(), weight_or_null(*this), size_}; }
  GradientSums<const double> by_theta() const {
    return {gradients_.data(), gradients_.data() + size_, weight_or_null(*this), size_};
  }
  GradientSums<double> by_scale() { return {scale_, scale_ + 1, has_weight_ ? scale_ + 2 : nullptr, 1}; }
  GradientSums<const double> by_scale() const { return {scale_, scale_ + 1, has_weight_ ? scale_ + 2 : nullptr, 1}; }
  /// The three one after the other, as one product of coefficients with contexts gives them.
  double* gradients() { return gradients_.data(); }
  double* risk_gradient() { return gradients_.data(); }
  double* variance_gradient() { return gradients_.data() + size_; }
  double* weight_gradient() { return gradients_.data() + 2 * size_; }
  /// As many sums by log scale, likewise.
  double* scale_gradients() { return scale_; }

  void transfer(ByteStream& bytes) {
    scrm::transfer(bytes, terms);
    scrm::transfer(bytes, gradients_);
    for (double& sum : scale_) scrm::transfer(bytes, sum);
  }

 private:
  static auto weight_or_null(auto& sums) -> decltype(sums.gradients_.data()) {
    return sums.has_weight_ ? sums.gradients_.data() + 2 * sums.size_ : nullptr;
  }

  std::size_t size_;
  bool has_weight_;
  std::vector<double> gradients_;
  double scale_[3] = {};
};

void merge_gradients(const GradientSums<double>& into, const GradientSums<const double>& from, double moved_into,
                     double moved_from, double mean_loss) {
  for (std::size_t j = 0; j < into.size; ++j) {
    into.variance[j] += from.variance[j] + moved_into * into.variance_slope(mean_loss, j) +
                        moved_from * from.variance_slope(mean_loss, j);
    into.risk[j] += from.risk[j];
    if (into.weight != nullptr) into.weight[j] += from.weight[j];
  }
}

void merge_sums(ProblemSums& into, const ProblemSums& from, double mean_loss) {
  const double mean_into = into.terms.variance.mean, mean_from = from.terms.variance.mean;
  into.terms.risk.merge(from.terms.risk);
  into.terms.variance.merge(from.terms.variance);
  into.terms.weight.merge(from.terms.weight);
  const double mean = into.terms.variance.mean;
  merge_gradients(into.by_theta(), from.by_theta(), mean_into - mean, mean_from - mean, mean_loss);
  merge_gradients(into.by_scale(), from.by_scale(), mean_into - mean, mean_from - mean, mean_loss);
}

/// Columns of kBlockRows numbers that the gradient of one problem needs at once.
std::size_t gradient_columns(const ObjectiveProblem& problem, const Schema& schema) {
  const auto outputs = static_cast<std::size_t>(problem.policy.outputs);
  const bool model = risk_form(problem) == RiskForm::model;
  const bool labels = risk_form(problem) == RiskForm::labels || model;
  const std::size_t panel = (problem.policy.features != FeatureMap::linear ? kPanelColumns : 0) +
                            (model ? problem.model->scratch_columns() : 0);
  if (!labels && has_tiled_gradient(problem.policy, schema)) return panel + kTiledGradientColumns;
  const std::size_t sets = labels || risk_form(problem) == RiskForm::ratio ? 3 : 2;
  // A sparse context's products, by features, before they are turned into rows of theta.
  const std::size_t products = schema.sparse ? sets * problem.policy.theta.size() / kBlockRows + 1 : 0;
  return panel + sets * (outputs + (problem.rules.scale_gradient ? 1 : 0)) + products +
         (schema.replays > 1 ? sets * outputs : 0);
}

ReductionBytes objective_bytes(std::span<const ObjectiveProblem> problems, const Schema& schema) {
  ReductionBytes bytes;
  bytes.help = "fewer actions, features or lambdas";
  for (const ObjectiveProblem& problem : problems) {
    // With a model the scores of all actions are held; without, those of a few at a time.
    if (problem.model != nullptr) bytes.help = "fewer actions or features, or an --estimator without a model";
    const std::size_t theta = problem.policy.theta.size() * sizeof(double);
    // The matrix's copy, by features too where the context is sparse, and the gradient that comes out.
    bytes.fixed += (schema.sparse ? 3 : 2) * theta;
    bytes.partial += sizeof(ProblemSums) + (risk_form(problem) == RiskForm::ratio ? 3 : 2) * theta;
    bytes.scratch = std::max(bytes.scratch, gradient_columns(problem, schema) * kBlockRows * sizeof(double));
  }
  return bytes;
}

class ObjectiveReduction final : public SizedReduction {
 public:
  struct Sums final : Partial {
    std::vector<ProblemSums> problems;
  };

  ObjectiveReduction(std::span<const ObjectiveProblem> problems, const Schema& schema)
      : problems_(problems), bytes_(objective_bytes(problems, schema)) {
    for (const ObjectiveProblem& problem : problems) matrices_.emplace_back(problem.policy, schema);
  }

  ReductionBytes bytes() const override { return bytes_; }

  std::unique_ptr<Partial> make() const override {
    auto partial = std::make_unique<Sums>();
    for (const ObjectiveProblem& problem : problems_) {
      partial->problems.emplace_back(problem.policy.theta.size(), risk_form(problem) == RiskForm::ratio);
    }
    return partial;
  }

  void compute(const Block& block, Partial& out) const override {
    const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
    for (std::size_t p = 0; p < problems_.size(); ++p) {
      ProblemSums& sums = static_cast<Sums&>(out).problems[p];
      std::array<std::uint8_t, kBlockRows> flags;
      const std::uint8_t* keep = nullptr;
      if (problems_[p].rows != nullptr) {
        problems_[p].rows->expand(block.first_row, kBlockRows, flags.data());
        keep = flags.data();
      }
      if (risk_form(problems_[p]) == RiskForm::labels) {
        add_additive_terms(block, keep, p, *scratch, sums);
      } else if (risk_form(problems_[p]) == RiskForm::model) {
        add_model_terms(block, keep, p, *scratch, sums);
      } else if (risk_form(problems_[p]) == RiskForm::smoothed) {
        add_smoothed_terms(block, keep, p, *scratch, sums);
      } else if (has_fused_terms(block, problems_[p])) {
        const Policy& policy = problems_[p].policy;
        sums.terms = gaussian_terms(block, keep, {policy.theta.data(), policy.scale}, term_options(problems_[p].rules),
                                    sums.risk_gradient(), sums.variance_gradient());
      } else {
        add_weighted_terms(block, keep, p, *scratch, sums);
      }
    }
  }

  void merge(Partial& earlier, const Partial& later) const override {
    for (std::size_t p = 0; p < problems_.size(); ++p) {
      merge_sums(static_cast<Sums&>(earlier).problems[p], static_cast<const Sums&>(later).problems[p],
                 problems_[p].rules.mean_loss);
    }
  }

  void transfer(Partial& sums, ByteStream& bytes) const override {
    for (ProblemSums& one : static_cast<Sums&>(sums).problems) one.transfer(bytes);
  }

 private:
  /// Scores into `slopes`, then log-probabilities out and derivatives by the scores in their place; and, where it is
  /// asked for, the derivative by log scale.
  void score_gradient(const Block& block, std::size_t p, PolicyScratch& scratch, double* slopes, double* logs,
                      double* by_scale) const {
    const Policy& policy = problems_[p].policy;
    matrices_[p].scores(block, scratch, slopes);
    if (by_scale != nullptr) policy_kind(policy.kind).scale_gradient(policy, block, slopes, by_scale);
    policy_kind(policy.kind).score_gradient(policy, block, slopes, logs);
  }

  void add_weighted_terms(const Block& block, const std::uint8_t* keep, std::size_t p, PolicyScratch& scratch,
                          ProblemSums& sums) const {
    const ObjectiveProblem& problem = problems_[p];
    if (has_tiled_gradient(problem.policy, block)) return add_tiled_terms(block, keep, p, scratch, sums);
    const int outputs = problem.policy.outputs;
    const std::int64_t sets = sums.has_weight() ? 3 : 2, by_theta = outputs * sets * kBlockRows;
    double* slopes =
        scratch.columns(PolicyScratch::kCallerSlot, sets * (outputs + (problem.rules.scale_gradient ? 1 : 0)));
    double* by_scale = problem.rules.scale_gradient ? slopes + by_theta : nullptr;
    alignas(kColumnAlignment) double weights[kBlockRows], slope[kBlockRows], spread[kBlockRows];
    score_gradient(block, p, scratch, slopes, weights, by_scale);
    weights_from_log_density(block, weights, weights);
    sums.terms = weighted_terms(block, keep, problem.rules, weights, slope, spread);
    // Columns: derivatives (they become the first coefficients), second coefficients, and for a ratio a third set.
    const auto coefficients = [&](double* derivatives, int columns) {
      double* second = derivatives + static_cast<std::int64_t>(columns) * kBlockRows;
      if (!sums.has_weight()) return gradient_coefficients(slope, spread, derivatives, columns, derivatives, second);
      double* third = second + static_cast<std::int64_t>(columns) * kBlockRows;
      ratio_coefficients(block, problem.rules, weights, slope, spread, columns, derivatives, second, third);
    };
    coefficients(slopes, outputs);
    add_products(block, problem, slopes, scratch, sums);
    if (by_scale == nullptr) return;
    coefficients(by_scale, 1);
    column_totals(by_scale, static_cast<int>(sets), 1, sums.scale_gradients());
  }

  /// The same with many actions: weights first, then the gradients a few rows at a time.
  void add_tiled_terms(const Block& block, const std::uint8_t* keep, std::size_t p, PolicyScratch& scratch,
                       ProblemSums& sums) const {
    const ObjectiveRules& rules = problems_[p].rules;
    alignas(kColumnAlignment) double weights[kBlockRows], slope[kBlockRows], spread[kBlockRows], risk[kBlockRows];
    TileStates states;
    tiled_weights(matrices_[p], block, states, weights);
    sums.terms = weighted_terms(block, keep, rules, weights, slope, spread);
    for (int i = 0; i < kBlockRows; ++i) {
      spread[i] *= slope[i];
      // Rows that do not count may hold a loss that is no number, and a weight that is held does not change.
      if (weights[i] >= rules.weight_cap) weights[i] = 0;
      risk[i] = weights[i] != 0 ? weights[i] * (block.loss[i] - rules.mean_loss) : 0;
    }
    std::vector<TiledFactor> factors{{sums.has_weight() ? risk : slope, sums.risk_gradient()}};
    if (sums.has_weight()) factors.push_back({weights, sums.weight_gradient()});
    // Each is a product of its own: one that no penalty asks for is left out.
    if (rules.lambda != 0)
      factors.push_back({spread, sums.variance_gradient()});
    else
      std::fill_n(sums.variance_gradient(), sums.size(), 0.0);
    tiled_gradient(matrices_[p], block, states, factors, scratch);
  }

  /// Gradients from columns of coefficients. All of them at once, since each product reads the whole context; the
  /// second is left out where no penalty needs it.
  static void add_products(const Block& block, const ObjectiveProblem& problem, const double* coefficients,
                           PolicyScratch& scratch, ProblemSums& sums) {
    const bool first_only = problem.rules.lambda == 0 && !sums.has_weight();
    const int sets = first_only ? 1 : sums.has_weight() ? 3 : 2;
    theta_gradient(block, problem.policy.features, coefficients, sets * problem.policy.outputs, scratch,
                   sums.gradients());
    if (first_only) std::fill_n(sums.variance_gradient(), sums.size(), 0.0);
  }

  /// second = (z − z̄) w y ∂log π, third = w ∂log π, and slopes becomes w (y − ȳ) ∂log π; all 0 where the weight is
  /// held.
  static void ratio_coefficients(const Block& block, const ObjectiveRules& rules, const double* weights,
                                 const double* slope, const double* spread, int outputs, double* slopes, double* second,
                                 double* third) {
    for (int k = 0; k < outputs; ++k) {
      for (int i = 0; i < kBlockRows; ++i) {
        const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows + i;
        const bool counts = weights[i] != 0 && weights[i] < rules.weight_cap;
        const double derivative = counts ? slopes[at] : 0;
        second[at] = counts ? spread[i] * slope[i] * derivative : 0;
        third[at] = weights[i] * derivative;
        slopes[at] = counts ? weights[i] * (block.loss[i] - rules.mean_loss) * derivative : 0;
      }
    }
  }

  void add_additive_terms(const Block& block, const std::uint8_t* keep, std::size_t p, PolicyScratch& scratch,
                          ProblemSums& sums) const {
    const ObjectiveProblem& problem = problems_[p];
    const int labels = problem.policy.outputs;
    double* slopes = scratch.columns(PolicyScratch::kCallerSlot, 3 * static_cast<std::int64_t>(labels));
    double* second = slopes + static_cast<std::int64_t>(labels) * kBlockRows;
    double* probability = second + static_cast<std::int64_t>(labels) * kBlockRows;
    matrices_[p].scores(block, scratch, slopes);
    policy_kind(problem.policy.kind).label_gradient(problem.policy, block, slopes, probability);
    sums.terms = additive_terms(block, keep, probability, problem.rules.alpha, problem.rules.mean_loss, slopes, second);
    add_products(block, problem, slopes, scratch, sums);
  }

  /// Of other losses: w p g is linear in π, so that all else is as for an average.
  void add_smoothed_terms(const Block& block, const std::uint8_t* keep, std::size_t p, PolicyScratch& scratch,
                          ProblemSums& sums) const {
    const ObjectiveRules& rules = problems_[p].rules;
    alignas(kColumnAlignment) double smoothed[kBlockRows] = {};
    for (int i = 0; i < block.rows; ++i) {
      const double propensity = block.propensity != nullptr ? block.propensity[i] : std::exp(block.log_propensity[i]);
      const double gain = rules.smoothing / propensity * (rules.largest_loss - block.loss[i]);
      smoothed[i] = -propensity / rules.smoothing * std::log1p(gain);
    }
    Block other = block;
    other.loss = smoothed;
    add_weighted_terms(other, keep, p, scratch, sums);
  }

  void add_model_terms(const Block& block, const std::uint8_t* keep, std::size_t p, PolicyScratch& scratch,
                       ProblemSums& sums) const {
    const ObjectiveProblem& problem = problems_[p];
    const std::int64_t columns = kModelTermSets * static_cast<std::int64_t>(problem.policy.outputs);
    double* slopes = scratch.columns(PolicyScratch::kCallerSlot, columns);
    const LearningModel::OfBlock model = problem.model->of(block, scratch);
    matrices_[p].scores(block, scratch, slopes);
    sums.terms = model_terms(block, keep, problem, model, slopes);
    add_products(block, problem, slopes, scratch, sums);
  }

  std::span<const ObjectiveProblem> problems_;
  ReductionBytes bytes_;
  std::vector<ScoreMatrix> matrices_;
  mutable Pool<PolicyScratch> scratch_;
};

ObjectiveValue finish(const ObjectiveProblem& problem, const ProblemSums& sums) {
  const GradientFactors factors = gradient_factors(problem.rules, sums.terms);
  std::vector<double> gradient;
  gradient.reserve(sums.size() + 1);
  const auto append = [&](const GradientSums<const double>& part) {
    for (std::size_t j = 0; j < part.size; ++j) {
      const double risk = part.weight != nullptr ? part.risk[j] - factors.shift * part.weight[j] : part.risk[j];
      gradient.push_back(factors.risk * risk + factors.variance * part.variance[j]);
    }
  };
  append(sums.by_theta());
  if (problem.rules.scale_gradient) append(sums.by_scale());
  return objective_value(problem, sums.terms, std::move(gradient));
}

/// How many problems share a pass: all of them, or as many as fit the budget without giving up threads.
std::size_t problems_a_pass(const Source& source, const std::vector<ObjectiveProblem>& problems,
                            const PassOptions& options) {
  std::size_t count = problems.size();
  const auto fits = [&](std::size_t first) {
    return fits_all_threads(source, objective_bytes(std::span(problems).first(first), source.schema()), options);
  };
  while (count > 1 && !fits(count)) --count;
  return count;
}

void evaluate_in_one_pass(Source& source, std::span<const ObjectiveProblem> problems, const PassOptions& options,
                          bool skip_bad_rows, std::vector<ObjectiveValue>& out) {
  const ObjectiveReduction reduction(problems, source.schema());
  const PassResult result = run_pass(source, reduction, options);
  if (!skip_bad_rows) require_no_bad_rows(result.audit);
  for (std::size_t p = 0; p < problems.size(); ++p) {
    out.push_back(result.sums
                      ? finish(problems[p], static_cast<const ObjectiveReduction::Sums&>(*result.sums).problems[p])
                      : ObjectiveValue{});
  }
}

/// The sums of a problem do not depend on those beside it: in how many passes they are made changes no bit.
std::vector<ObjectiveValue> evaluate_in_passes(Source& source, const std::vector<ObjectiveProblem>& problems,
                                               const PassOptions& options, bool skip_bad_rows) {
  std::vector<ObjectiveValue> out;
  const std::size_t together = problems_a_pass(source, problems, options);
  for (std::size_t first = 0; first < problems.size(); first += together) {
    const std::size_t count = std::min(together, problems.size() - first);
    evaluate_in_one_pass(source, std::span(problems).subspan(first, count), options, skip_bad_rows, out);
  }
  return out;
}

}  // namespace

std::vector<ObjectiveValue> evaluate_objectives(Source& source, const std::vector<ObjectiveProblem>& problems,
                                                const PassOptions& options, bool skip_bad_rows) {
  ReplayedWorkspace workspace;
  return evaluate_objectives(source, problems, options, skip_bad_rows, workspace);
}

std::vector<ObjectiveValue> evaluate_objectives(Source& source, const std::vector<ObjectiveProblem>& problems,
                                                const PassOptions& options, bool skip_bad_rows,
                                                ReplayedWorkspace& workspace) {
  const auto shares = [&](const ObjectiveProblem& problem) { return shares_contexts(source.schema(), problem); };
  if (std::none_of(problems.begin(), problems.end(), shares)) {
    return evaluate_in_passes(source, problems, options, skip_bad_rows);
  }
  // Each problem goes its own way whatever stands beside it: its bits must not depend on its neighbours.
  std::vector<ObjectiveValue> out;
  for (const ObjectiveProblem& problem : problems) {
    out.push_back(shares(problem) ? evaluate_replayed(source, problem, options, skip_bad_rows, workspace)
                                  : evaluate_in_passes(source, {problem}, options, skip_bad_rows).front());
  }
  return out;
}

}  // namespace scrm
