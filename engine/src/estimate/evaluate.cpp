#include "scrm/engine/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "estimate/bootstrap.hpp"
#include "estimate/estimator.hpp"
#include "estimate/intervals.hpp"
#include "estimate/warnings.hpp"
#include "pass/pool.hpp"
#include "scrm/engine/human_bytes.hpp"
#include "scrm/io/error.hpp"
#include "scrm/kernels/weights.hpp"

namespace scrm {
namespace {

/// What a pass adds up: the losses once, the weights of every policy, and the additive pair where it applies.
struct EvaluationSums {
  Moments loss;
  std::vector<WeightSums> weights;
  std::vector<AdditiveSums> additive;
};

/// The reduction of `evaluate`: every policy scores the block while it is in cache.
class EvaluationReduction final : public Reduction {
 public:
  struct Sums final : Partial {
    EvaluationSums sums;
  };

  EvaluationReduction(const std::vector<NamedPolicy>& policies, const WeightOptions& rules, bool additive,
                      Bootstrap* bootstrap)
      : policies_(policies), rules_(rules), additive_(additive), bootstrap_(bootstrap) {}

  std::unique_ptr<Partial> make() const override {
    auto partial = std::make_unique<Sums>();
    partial->sums.weights.resize(policies_.size());
    partial->sums.additive.resize(policies_.size());
    return partial;
  }

  void compute(const Block& block, Partial& out) const override {
    EvaluationSums& sums = static_cast<Sums&>(out).sums;
    const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
    alignas(kColumnAlignment) double weights[kPolicyBatch * kBlockRows];
    // The additive sums are centred on the block's mean loss. Others sum the losses last, when the policies have
    // brought them into cache.
    if (additive_) sums.loss = loss_moments(block);
    for (std::size_t first = 0; first < policies_.size(); first += kPolicyBatch) {
      std::array<const TargetPolicy*, kPolicyBatch> batch{};
      const std::size_t count = std::min(batch.size(), policies_.size() - first);
      for (std::size_t k = 0; k < count; ++k) batch[k] = policies_[first + k].policy.get();
      weights_of_policies({batch.data(), count}, block, *scratch, weights);
      for (std::size_t k = 0; k < count; ++k) add_policy(block, first + k, weights + k * kBlockRows, *scratch, sums);
    }
    if (!additive_) sums.loss = loss_moments(block);
    if (bootstrap_ != nullptr) bootstrap_->add_block_losses(block);
  }

  void merge(Partial& earlier, const Partial& later) const override {
    EvaluationSums& into = static_cast<Sums&>(earlier).sums;
    const EvaluationSums& from = static_cast<const Sums&>(later).sums;
    into.loss.merge(from.loss);
    for (std::size_t p = 0; p < policies_.size(); ++p) {
      merge_weight_sums(into.weights[p], from.weights[p], rules_);
      into.additive[p].merge(from.additive[p]);
    }
  }

 private:
  void add_policy(const Block& block, std::size_t p, double* weights, PolicyScratch& scratch,
                  EvaluationSums& sums) const {
    const TargetPolicy& policy = *policies_[p].policy;
    alignas(kColumnAlignment) double excess[kBlockRows];
    const bool additive = additive_ && policy.has_label_probability();
    if (additive) {
      double* labels = scratch.columns(PolicyScratch::kCallerSlot, block.num_actions);
      policy.label_probability(block, scratch, labels);
      label_weight_excess(block, labels, rules_.alpha, excess);
      sums.additive[p] = additive_sums(block, excess, sums.loss.mean);
    }
    if (bootstrap_ != nullptr) bootstrap_->add_block(block, p, weights, rules_, additive ? excess : nullptr);
    compute_weight_sums(block, weights, rules_, sums.weights[p]);
  }

  const std::vector<NamedPolicy>& policies_;
  WeightOptions rules_;
  bool additive_;
  Bootstrap* bootstrap_;
  mutable Pool<PolicyScratch> scratch_;
};

/// The sums over all rows: the top rows join the others, clipped to M where M is automatic.
PolicyTotals policy_totals(const EvaluationSums& all, std::size_t policy, const WeightOptions& rules) {
  WeightSums sums = all.weights[policy];
  const bool automatic = rules.clip == 0;
  const TopRows top = sums.top;
  if (automatic) sums.clipped = sums.ips;  // all rows outside the top lie below M
  const double clip =
      automatic && top.count > 0 ? top.entries[static_cast<std::size_t>(top.count - 1)].weight : rules.clip;
  WeightOptions final_rules = rules;
  final_rules.clip = clip > 0 ? clip : 0;
  for (int t = top.count - 1; t >= 0; --t) {
    const TopRows::Entry& entry = top.entries[static_cast<std::size_t>(t)];
    add_row(sums, entry.weight, entry.loss, final_rules);
  }
  // M is zero when every row outside the largest four has no weight: then all that is left of the estimator is zero.
  if (clip == 0) sums.clipped = Moments{sums.ips.count, 0, 0, 0, 0, 0};
  PolicyTotals out;
  out.rows = sums.weight.count;
  out.loss = all.loss;
  out.weight = sums.weight;
  out.ips = sums.ips;
  out.clipped = sums.clipped;
  out.ix = sums.ix;
  out.square = sums.square;
  out.additive = all.additive[policy];
  out.clip = clip;
  out.alpha = rules.alpha;
  return out;
}

std::optional<double> if_finite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

Diagnostics diagnose(const PolicyTotals& totals, const TopRows& top) {
  Diagnostics out;
  const Moments& w = totals.weight;
  const double mean = w.true_mean();
  out.mean_weight = if_finite(mean);
  const double error = w.standard_deviation() / std::sqrt(w.count);
  if (totals.rows > 1) {
    // Weights that differ from one by rounding alone are one, however little they spread.
    constexpr double kRounding = 1e-12;
    const bool one = std::abs(mean - 1) < kRounding;
    out.mean_weight_z = one ? 0.0 : (error > 0 ? if_finite((mean - 1) / error) : std::nullopt);
  }
  // (Σw)² / Σw² = n mean² / (mean² + square_sum / n): the unit of the weights cancels.
  const double square = w.mean * w.mean;
  if (w.mean > 0) out.ess = if_finite(w.count * (square / (square + w.square_sum / w.count)));
  const double largest = top.entries[0].weight;
  out.max_weight = if_finite(largest);
  if (w.mean > 0) out.max_weight_share = if_finite(std::ldexp(largest, -w.exponent) / w.mean / w.count);
  add_weight_warnings(totals.rows, out);
  return out;
}

Estimate estimate(const Estimator& estimator, const PolicyTotals& totals, const EvaluateOptions& options,
                  const std::vector<ReplicateTotals>* replicates, Diagnostics& diagnostics) {
  const PointEstimate point = estimator.point(totals);
  Estimate out;
  out.estimator = estimator.name;
  out.parameter = point.parameter;
  if (!point.undefined_reason.empty()) {
    diagnostics.warnings.push_back(fmt::format("{}: {}", estimator.name, point.undefined_reason));
    return out;
  }
  out.value = if_finite(point.value);
  if (!out.value) {
    diagnostics.warnings.push_back(fmt::format("{}: the weights are too large for a number", estimator.name));
    return out;
  }
  if (totals.rows < 2) return out;
  out.standard_error = if_finite(point.standard_error);
  if (!out.standard_error) return out;
  std::optional<std::pair<double, double>> bounds;
  if (replicates == nullptr) {
    bounds = interval(options.interval, options.level, totals.rows, point);
  } else {
    std::vector<double> values;
    values.reserve(replicates->size());
    for (const ReplicateTotals& replicate : *replicates) values.push_back(estimator.replicate(replicate));
    bounds = percentile_interval(options.level, std::move(values));
    if (!bounds) {
      diagnostics.warnings.push_back(
          fmt::format("{}: some bootstrap replicates are undefined, so there is no interval", estimator.name));
    }
  }
  if (bounds) {
    out.low = if_finite(bounds->first);
    out.high = if_finite(bounds->second);
  }
  return out;
}

void require_valid(const EvaluateOptions& options) {
  if (options.alpha && !(*options.alpha > 0 && std::isfinite(*options.alpha))) {
    throw Error(ErrorKind::usage,
                fmt::format("alpha is {}, but must be above zero (or auto: one over the rows)", *options.alpha));
  }
  if (options.clip && !(*options.clip > 0 && std::isfinite(*options.clip))) {
    throw Error(ErrorKind::usage,
                fmt::format("clip is {}, but must be above zero (or auto: the fifth-largest weight)", *options.clip));
  }
  if (!(options.level > 0 && options.level < 1)) {
    throw Error(ErrorKind::usage, fmt::format("level is {}, but must lie between 0 and 1, as in 0.95", options.level));
  }
  if (options.replicates < 2) throw Error(ErrorKind::usage, "a bootstrap needs at least two replicates");
}

/// The estimators asked for that apply to this policy. Throws for names nobody knows, and for one that was asked for by
/// name but applies to no policy.
std::vector<const Estimator*> choose_estimators(const EvaluateOptions& options, const Schema& schema,
                                                const TargetPolicy& policy, const std::string& policy_name) {
  std::vector<const Estimator*> chosen;
  if (options.estimators.empty()) {
    for (const Estimator* estimator : all_estimators()) {
      if (estimator->inapplicable_reason(schema, policy).empty()) chosen.push_back(estimator);
    }
    return chosen;
  }
  for (const std::string& name : options.estimators) {
    const auto& all = all_estimators();
    const auto found = std::find_if(all.begin(), all.end(), [&name](const Estimator* e) { return name == e->name; });
    if (found == all.end()) {
      throw Error(ErrorKind::usage, fmt::format("there is no estimator '{}'; the estimators are {}", name,
                                                fmt::join(estimator_names(), ", ")));
    }
    const std::string inapplicable_reason = (*found)->inapplicable_reason(schema, policy);
    if (!inapplicable_reason.empty()) {
      throw Error(ErrorKind::data, fmt::format("the estimator '{}' does not apply: {}", name, inapplicable_reason),
                  {.file = policy_name});
    }
    chosen.push_back(*found);
  }
  return chosen;
}

struct PassOutcome {
  EvaluationSums sums;
  Audit audit;
  std::unique_ptr<Bootstrap> bootstrap;
};

PassOutcome run_evaluation_pass(Source& source, const std::vector<NamedPolicy>& policies,
                                const EvaluateOptions& options, const WeightOptions& rules, bool additive,
                                const PassOptions& pass) {
  PassOutcome out;
  PassOptions inner = pass;
  if (options.interval == IntervalKind::bootstrap) {
    const std::size_t bytes = Bootstrap::bytes(source.rows(), policies.size(), additive);
    if (pass.memory > 0 && bytes > pass.memory / 2) {
      throw Error(ErrorKind::memory,
                  fmt::format("the bootstrap of {} policies needs {} of sums, more than half of the memory budget; "
                              "give a larger --memory or fewer policies at a time",
                              policies.size(), human_bytes(static_cast<double>(bytes))));
    }
    if (pass.memory > 0) inner.memory -= bytes;
    out.bootstrap = std::make_unique<Bootstrap>(source.rows(), policies.size(), additive);
  }
  const EvaluationReduction reduction(policies, rules, additive, out.bootstrap.get());
  PassResult result = run_pass(source, reduction, inner);
  out.audit = std::move(result.audit);
  if (result.sums) out.sums = std::move(static_cast<EvaluationReduction::Sums&>(*result.sums).sums);
  return out;
}

}  // namespace

EvaluationReport evaluate(Source& source, const std::vector<NamedPolicy>& policies, const EvaluateOptions& options,
                          const PassOptions& pass) {
  require_valid(options);
  std::vector<std::vector<const Estimator*>> chosen;
  bool additive = false;
  for (const NamedPolicy& policy : policies) {
    chosen.push_back(choose_estimators(options, source.schema(), *policy.policy, policy.name));
    additive = additive || std::count(chosen.back().begin(), chosen.back().end(), &kAdditiveEstimator) > 0;
  }
  if (source.rows() == 0) throw Error(ErrorKind::data, "the data has no rows: there is nothing to evaluate");

  WeightOptions rules{options.alpha.value_or(1.0 / static_cast<double>(source.rows())), options.clip.value_or(0.0)};
  rules.ranges = options.interval == IntervalKind::bernstein;
  PassOutcome outcome = run_evaluation_pass(source, policies, options, rules, additive, pass);
  if (!options.skip_bad_rows) require_no_bad_rows(outcome.audit);
  const std::int64_t skipped = outcome.audit.bad_rows();
  // Fewer than the source's rows when some are bad, or when the source leaves rows out itself.
  const std::int64_t used = std::llround(outcome.sums.loss.count);
  if (used == 0) throw Error(ErrorKind::data, "every row of the data is bad: there is nothing to evaluate");
  if (skipped > 0 && !options.alpha) {
    // α = 1/n counts the rows that are left, and they are known only now.
    rules.alpha = 1.0 / static_cast<double>(used);
    outcome = run_evaluation_pass(source, policies, options, rules, additive, pass);
  }

  EvaluationReport report;
  report.rows = used;
  report.skipped_rows = skipped;
  report.audit = std::move(outcome.audit);
  report.loss = outcome.sums.loss;
  std::vector<std::vector<ReplicateTotals>> replicates;
  if (outcome.bootstrap) {
    for (std::size_t p = 0; p < policies.size() && rules.clip == 0; ++p) {
      const TopRows& top = outcome.sums.weights[p].top;
      outcome.bootstrap->clip_top_rows(p, top, top.entries[static_cast<std::size_t>(top.count - 1)].weight);
    }
    replicates = outcome.bootstrap->replicate(options.seed, options.replicates, pass.threads);
  }
  for (std::size_t p = 0; p < policies.size(); ++p) {
    const PolicyTotals totals = policy_totals(outcome.sums, p, rules);
    PolicyReport one;
    one.name = policies[p].name;
    one.diagnostics = diagnose(totals, outcome.sums.weights[p].top);
    for (const Estimator* estimator : chosen[p]) {
      one.estimates.push_back(
          estimate(*estimator, totals, options, replicates.empty() ? nullptr : &replicates[p], one.diagnostics));
    }
    report.policies.push_back(std::move(one));
  }
  return report;
}

}  // namespace scrm
