/// Estimator: a name, what it makes of the sums of a pass, and how it is learned with; and the registry of them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scrm/engine/estimate/model_sums.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/io/shard/schema.hpp"
#include "scrm/kernels/weights/difference_sums.hpp"
#include "scrm/kernels/weights/learning_terms.hpp"
#include "scrm/kernels/weights/moments.hpp"
#include "scrm/kernels/weights/weight_sums.hpp"

namespace scrm {

/// Moments of −ln(1 − λ w (y − c)) / λ for one λ, c being the largest loss that there can be.
struct SmoothedTerms {
  double lambda = 0;
  double centre = 0;  ///< c
  Moments terms;
};

/// All that a pass knows about one policy, over all rows: w is a row's weight, y its loss, t the estimator's transform.
struct PolicyTotals {
  double rows = 0;
  Moments loss;                                  ///< y
  Moments weight;                                ///< w
  Moments weighted_loss;                         ///< w y
  Moments terms;                                 ///< t(w) y
  SquareWeightedMoments square;                  ///< w² and y
  AdditiveSums additive;                         ///< y + (y − c) S and S; only with `label_sums`
  std::span<const SmoothedTerms> smoothed = {};  ///< on a grid of λ; only with `smoothed_terms`
  ModelSums model;                               ///< only with `needs_model`
  double level = 0.95;                           ///< of intervals
  std::optional<double> loss_threshold = {};     ///< what the policy's loss is to lie below, where anybody asks
};

/// Sums of one bootstrap replicate, or of a group of rows, in plain units.
struct ReplicateTotals {
  double rows = 0, loss = 0;
  double weight = 0, weighted_loss = 0, terms = 0;
  double additive_u = 0, additive_s = 0;
  double prediction = 0, residual = 0;  ///< q_π and w (y − q)
  double additive_terms = 0;            ///< q_π + (y − q) (1 + S)
};

/// An estimate before its interval. Where value is not defined, `undefined_reason` says why in words.
struct PointEstimate {
  double value = 0;
  double standard_error = 0;
  double range = 0;  ///< of the averaged terms (an upper bound where one pass cannot give it exactly), for bernstein
  std::string undefined_reason;
  std::optional<double> upper_bound;  ///< of its own, at the level asked for: it has no other interval then
  std::optional<double> confidence;   ///< that upper_bound can have and lie below PolicyTotals::loss_threshold; 0: none
  std::optional<double> parameter;    ///< one that it chose itself
};

/// All that a pass knows about one policy minus a baseline, over all rows: u is a row's weight under the baseline, and
/// S of the additive estimator is that of the policy minus that of the baseline. Where the baseline is the logged
/// actions themselves, u = t(u) = 1.
struct DifferenceTotals {
  double rows = 0;
  Moments loss;                     ///< y
  Moments terms;                    ///< (t(w) − t(u)) y
  ModelDifference model;            ///< only with `needs_model`
  DifferenceSums sums;              ///< over the rows that it does not hold
  AdditiveSums additive;            ///< (y − c) S and S; only with `label_sums`
  double mean_weight = 1;           ///< of w
  double baseline_mean_weight = 1;  ///< of u
  PointEstimate policy, baseline;   ///< the estimates of either; of the logged actions, the mean loss
  double group_error = 0;           ///< standard error of their difference, from groups of rows
};

/// t(w) and ∂t/∂ log w of every weight, for WeightTransform::given. Called by many threads at once. α is that of the
/// options where the estimator takes it, 0 otherwise. The slope at w = 0 is 0.
using WeightFunction = void (*)(std::span<const double> weights, double alpha, double* values, double* slopes);

struct ValueAndSlope {
  double value = 0, slope = 0;
};

/// The WeightFunction of a function of one weight, (w, α) -> ValueAndSlope.
template <auto kFunction>
void for_each_weight(std::span<const double> weights, double alpha, double* values, double* slopes) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const ValueAndSlope one = kFunction(weights[i], alpha);
    values[i] = one.value;
    slopes[i] = one.slope;
  }
}

/// Residuals y − q of large weights count less. How large is tuned: each scale of a grid, from 1 up to the number of
/// rows, is a candidate, and the data chooses.
struct TunedResidual {
  /// t(w) of every weight for the parameter, in the terms q_π + t(w) (y − q). Called by many threads at once.
  void (*weights)(std::span<const double> weights, double parameter, double* out) = nullptr;
  /// ∂t/∂ log w, for learning.
  void (*slopes)(std::span<const double> weights, double parameter, double* out) = nullptr;
  /// The estimator's own parameter for weights beyond `scale` to count less.
  double (*parameter)(double scale) = nullptr;
  const char* symbol = "";  ///< of the parameter, for tables
};

/// The option that an estimator takes as its parameter.
enum class EstimatorParameter : std::uint8_t {
  none,
  alpha,  ///< α; 1 / rows unless it is given
  clip,   ///< M; the fifth-largest weight unless it is given. Only with WeightTransform::clip
};

/// What the risk of a learning objective is; its gradient follows from that and from the slopes of t.
enum class RiskForm : std::uint8_t {
  average,  ///< mean(t(w) y)
  smoothed,  ///< c + mean(w p g), g = −ln(1 − λ (y − c) / p) / λ, p the propensity and c the largest loss: linear in π
  ratio,   ///< Σ w y / Σ w
  labels,  ///< ȳ + mean((y − ȳ) Σ_k (w_k − 1)), label by label
  model,   ///< mean(q_π + c (y − q)), c as Correction says
};

/// How much of a residual y − q is added to what a model expects.
enum class Correction : std::uint8_t {
  none,     ///< nothing: c = 0
  weights,  ///< c = t(w), or what `tuned` makes of w
  labels,   ///< c = 1 + Σ_k (w_k − 1)
};

struct LearningRule {
  RiskForm form = RiskForm::average;
  double control_variate = 0;  ///< c in the terms (t(w) − c) y whose variance is penalised
  /// Of RiskForm::model. What is penalised is the variance of the terms' differences from those of the logged actions:
  /// from y, and without a correction from q.
  Correction correction = Correction::none;
};

std::string always_applicable(const Schema& schema, const TargetPolicy& policy);
PointEstimate mean_of_terms(const PolicyTotals& totals);
double replicate_mean_of_terms(const ReplicateTotals& totals);
double influence_on_mean_of_terms(const ReplicateTotals& all, const ReplicateTotals& group);
PointEstimate mean_of_term_differences(const DifferenceTotals& totals);
PointEstimate difference_of_values(const DifferenceTotals& totals);
PointEstimate mean_of(const Moments& terms);

/// One estimator. What is not said is that of an average of terms t(w) y, t(w) = w.
struct Estimator {
  const char* name;
  const char* formula;  ///< for help
  EstimatorParameter parameter = EstimatorParameter::none;
  WeightTransform transform = WeightTransform::none;
  WeightFunction weight_function = nullptr;  ///< of WeightTransform::given, and of no other
  bool label_sums = false;                   ///< needs PolicyTotals::additive: probabilities of single labels
  bool smoothed_terms = false;               ///< needs PolicyTotals::smoothed
  bool needs_model = false;                  ///< needs PolicyTotals::model
  std::optional<TunedResidual> tuned = {};   ///< with `needs_model`: its terms are on a grid, of which one is chosen
  bool by_default = true;                    ///< evaluated where nobody says which
  /// Why it does not apply to this data and policy; empty when it does.
  std::string (*inapplicable_reason)(const Schema& schema, const TargetPolicy& policy) = always_applicable;
  PointEstimate (*point)(const PolicyTotals& totals) = mean_of_terms;
  double (*replicate)(const ReplicateTotals& totals) = replicate_mean_of_terms;
  /// What a group of rows adds to n (value − its limit), to first order: for averages Σ t − rows · value. It tells how
  /// skewed the estimate is, and its error where rows come in clusters. Null: from small changes of `replicate`'s
  /// totals, or where that is replicate_mean_of_terms, influence_on_mean_of_terms.
  double (*influence)(const ReplicateTotals& all, const ReplicateTotals& group) = nullptr;
  /// Of a policy minus a baseline, with the variance of the paired rows. Null: mean_of_term_differences where `point`
  /// is mean_of_terms, and no differences are given where it is another.
  PointEstimate (*difference)(const DifferenceTotals& totals) = nullptr;
  std::optional<LearningRule> learning = std::nullopt;  ///< none: it cannot be learned with
};

// The built-in ones, for those who choose one by default: a file each in engine/src/estimate/estimators.
#define SCRM_ESTIMATOR(name) extern const Estimator name;
#include "scrm/engine/estimate/estimators.inc"
#undef SCRM_ESTIMATOR

/// Every estimator, in the order of reports: the built-in ones, then those registered.
const std::vector<const Estimator*>& all_estimators();

/// Adds an estimator, which must live as long as the program. To be called before others use the library: there is no
/// lock. Throws a usage Error when the name is taken or the fields contradict each other.
void register_estimator(const Estimator& estimator);
void register_estimator(const Estimator&& temporary) = delete;

std::vector<std::string> estimator_names();
/// Of those that can be learned with.
std::vector<std::string> learning_estimator_names();

/// Throws a usage Error that lists the names.
const Estimator& find_estimator(const std::string& name);
/// The same among those that can be learned with.
const Estimator& find_learning_estimator(const std::string& name);

/// Throws a data Error, with the reason, where the estimator does not apply; `policy_name` is its place.
void require_applicable(const Estimator& estimator, const Schema& schema, const TargetPolicy& policy,
                        const std::string& policy_name);

/// The data Error of an estimator that does not apply.
[[noreturn]] void refuse_estimator(const Estimator& estimator, const std::string& reason,
                                   const std::string& policy_name);

/// The parameter's value, 0 where there is none.
double parameter_value(const Estimator& estimator, double alpha, double clip);

/// Throws a usage Error unless what is given is above zero and finite.
void require_valid_parameters(const std::optional<double>& alpha, const std::optional<double>& clip);

/// The estimator's influence, whichever way it is given.
double influence_of(const Estimator& estimator, const ReplicateTotals& all, const ReplicateTotals& group);

/// (Σw)² / Σw² = n mean² / (mean² + square_sum / n): the unit of the weights cancels. 0 where there is no weight.
double effective_sample_size(const Moments& weights);

}  // namespace scrm
