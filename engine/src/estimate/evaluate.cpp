#include "scrm/engine/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "estimate/bootstrap.hpp"
#include "estimate/intervals.hpp"
#include "estimate/warnings.hpp"
#include "pass/pass_plan.hpp"
#include "pass/pool.hpp"
#include "scrm/engine/estimator.hpp"
#include "scrm/engine/memory_ledger.hpp"
#include "scrm/engine/threads.hpp"
#include "scrm/io/error.hpp"
#include "scrm/kernels/weights.hpp"

namespace scrm {
namespace {

/// What a pass adds up: the losses once, the weights of every policy, and the extra terms of estimators.
struct EvaluationSums {
  Moments loss;
  std::vector<WeightSums> weights;
  std::vector<AdditiveSums> additive;
  std::vector<Moments> given;  // [policies, transforms]
};

/// The reduction of `evaluate`: every policy scores the block while it is in cache.
class EvaluationReduction final : public SizedReduction {
 public:
  struct Sums final : Partial {
    EvaluationSums sums;
  };

  EvaluationReduction(const std::vector<NamedPolicy>& policies, const WeightOptions& rules, const ExtraTerms& extra,
                      int num_actions, Bootstrap* bootstrap)
      : policies_(policies), rules_(rules), extra_(extra), num_actions_(num_actions), bootstrap_(bootstrap) {}

  bool reads_context_by_row() const override {
    // More policies than this read each context several times: columns are then worth making.
    return policies_.size() <= kPolicyBatch &&
           std::all_of(policies_.begin(), policies_.end(),
                       [](const NamedPolicy& named) { return named.policy->reads_context_by_row(); });
  }

  ReductionBytes bytes() const override {
    const std::size_t sums = sizeof(WeightSums) + sizeof(AdditiveSums) + extra_.given.size() * sizeof(Moments);
    ReductionBytes bytes{.partial = policies_.size() * sums, .help = "fewer policies at a time"};
    for (const NamedPolicy& named : policies_) {
      const bool labels = extra_.labels && named.policy->has_label_probability();
      const std::size_t columns = labels ? static_cast<std::size_t>(num_actions_) * kBlockRows * sizeof(double) : 0;
      bytes.scratch = std::max(bytes.scratch, named.policy->scratch_bytes() + columns);
    }
    return bytes;
  }

  std::unique_ptr<Partial> make() const override {
    auto partial = std::make_unique<Sums>();
    partial->sums.weights.resize(policies_.size());
    partial->sums.additive.resize(policies_.size());
    partial->sums.given.resize(policies_.size() * extra_.given.size());
    return partial;
  }

  void compute(const Block& block, Partial& out) const override {
    EvaluationSums& sums = static_cast<Sums&>(out).sums;
    const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
    alignas(kColumnAlignment) double weights[kPolicyBatch * kBlockRows];
    // The additive sums are centred on the block's mean loss. Others sum the losses last, when the policies have
    // brought them into cache.
    if (extra_.labels) sums.loss = column_moments(block.loss, block.rows);
    for (std::size_t first = 0; first < policies_.size(); first += kPolicyBatch) {
      std::array<const TargetPolicy*, kPolicyBatch> batch{};
      const std::size_t count = std::min(batch.size(), policies_.size() - first);
      for (std::size_t k = 0; k < count; ++k) batch[k] = policies_[first + k].policy.get();
      weights_of_policies({batch.data(), count}, block, *scratch, weights);
      for (std::size_t k = 0; k < count; ++k) add_policy(block, first + k, weights + k * kBlockRows, *scratch, sums);
    }
    if (!extra_.labels) sums.loss = column_moments(block.loss, block.rows);
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
    for (std::size_t g = 0; g < into.given.size(); ++g) into.given[g].merge(from.given[g]);
  }

 private:
  void add_policy(const Block& block, std::size_t p, double* weights, PolicyScratch& scratch,
                  EvaluationSums& sums) const {
    const TargetPolicy& policy = *policies_[p].policy;
    alignas(kColumnAlignment) double excess[kBlockRows];
    const bool labels = extra_.labels && policy.has_label_probability();
    if (labels) {
      double* probability = scratch.columns(PolicyScratch::kCallerSlot, block.num_actions);
      policy.label_probability(block, scratch, probability);
      label_weight_excess(block, probability, rules_.alpha, excess);
      sums.additive[p] = additive_sums(block, excess, sums.loss.mean);
    }
    if (bootstrap_ != nullptr) bootstrap_->add_block(block, p, weights, rules_, labels ? excess : nullptr);
    for (std::size_t g = 0; g < extra_.given.size(); ++g) add_given_terms(block, p, g, weights, sums);
    compute_weight_sums(block, weights, rules_, sums.weights[p]);
  }

  void add_given_terms(const Block& block, std::size_t p, std::size_t g, const double* weights,
                       EvaluationSums& sums) const {
    const Estimator& estimator = *extra_.given[g];
    alignas(kColumnAlignment) double terms[kBlockRows], slopes[kBlockRows];
    estimator.weight_function({weights, static_cast<std::size_t>(block.rows)},
                              parameter_value(estimator, rules_.alpha, 0), terms, slopes);
    for (int i = 0; i < block.rows; ++i) terms[i] *= block.loss[i];
    if (bootstrap_ != nullptr) bootstrap_->add_block_terms(block, p, g, terms);
    sums.given[p * extra_.given.size() + g] = column_moments(terms, block.rows);
  }

  const std::vector<NamedPolicy>& policies_;
  WeightOptions rules_;
  const ExtraTerms& extra_;
  int num_actions_;
  Bootstrap* bootstrap_;
  mutable Pool<PolicyScratch> scratch_;
};

/// Sums over all rows, and the M of `clipped`.
struct FinalSums {
  WeightSums weights;
  double clip = 0;
};

/// The top rows join the others, clipped to M where M is automatic.
FinalSums add_top_rows(WeightSums sums, const WeightOptions& rules) {
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
  return {sums, clip};
}

/// Moments of the estimator's terms t(w) y; `given` are those of the policy's given transforms.
const Moments& terms_of(const Estimator& estimator, const WeightSums& sums, const ExtraTerms& extra,
                        const Moments* given) {
  switch (estimator.transform) {
    case WeightTransform::clip:
      return sums.clipped;
    case WeightTransform::ix:
      return sums.ix;
    case WeightTransform::given:
      return given[extra.index(estimator)];
    case WeightTransform::none:
      break;
  }
  return sums.ips;
}

std::optional<double> if_finite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

Diagnostics diagnose(const WeightSums& sums) {
  Diagnostics out;
  const Moments& w = sums.weight;
  const double mean = w.true_mean();
  out.mean_weight = if_finite(mean);
  if (w.count > 1) {
    // Weights that differ from one by rounding alone are one, however little they spread; a spread that is rounding
    // alone is none.
    constexpr double kRounding = 1e-12;
    const double deviation = w.standard_deviation();
    const bool one = std::abs(mean - 1) < kRounding;
    const bool spread = deviation > kRounding * mean;
    const double error = deviation / std::sqrt(w.count);
    out.mean_weight_z = one ? 0.0 : (spread ? if_finite((mean - 1) / error) : std::nullopt);
  }
  if (w.mean > 0) out.ess = if_finite(effective_sample_size(w));
  const double largest = sums.top.entries[0].weight;
  out.max_weight = if_finite(largest);
  if (w.mean > 0) out.max_weight_share = if_finite(std::ldexp(largest, -w.exponent) / w.mean / w.count);
  add_weight_warnings(w.count, out);
  return out;
}

/// `bootstrap` are the bounds of a bootstrap interval.
Estimate estimate(const Estimator& estimator, const PolicyTotals& totals, const EvaluateOptions& options,
                  const std::optional<std::pair<double, double>>& bootstrap, Diagnostics& diagnostics,
                  Overflows& overflows) {
  const PointEstimate point = estimator.point(totals);
  Estimate out;
  out.estimator = estimator.name;
  if (!point.undefined_reason.empty()) {
    diagnostics.warnings.push_back(fmt::format("{}: {}", estimator.name, point.undefined_reason));
    return out;
  }
  out.value = if_finite(point.value);
  if (!out.value) {
    overflows.values.emplace_back(estimator.name);
    return out;
  }
  if (totals.rows < 2) return out;
  out.standard_error = if_finite(point.standard_error);
  if (!out.standard_error) {
    overflows.standard_errors.emplace_back(estimator.name);
    return out;
  }
  std::optional<std::pair<double, double>> bounds;
  if (options.interval != IntervalKind::bootstrap) {
    bounds = interval(options.interval, options.level, totals.rows, point);
  } else {
    bounds = bootstrap;
    if (!bounds) {
      diagnostics.warnings.push_back(
          fmt::format("{}: some bootstrap replicates are undefined, so there is no interval", estimator.name));
    }
  }
  if (bounds) {
    out.low = if_finite(bounds->first);
    out.high = if_finite(bounds->second);
    if (!out.low || !out.high) overflows.intervals.emplace_back(estimator.name);
  }
  return out;
}

void require_valid(const EvaluateOptions& options) {
  require_valid_parameters(options.alpha, options.clip);
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
    chosen.push_back(&find_estimator(name));
    require_applicable(*chosen.back(), schema, policy, policy_name);
  }
  return chosen;
}

struct PassOutcome {
  EvaluationSums sums;
  Audit audit;
  std::unique_ptr<Bootstrap> bootstrap;
  std::size_t memory_left = 0;  // beside the bootstrap's sums; 0: no limit
};

using Bounds = std::optional<std::pair<double, double>>;

/// Bootstrap intervals by policy and estimator. Replicates are drawn anew for as many columns as fit the memory: their
/// bits stay the same.
std::vector<std::vector<Bounds>> bootstrap_intervals(const PassOutcome& outcome,
                                                     const std::vector<std::vector<const Estimator*>>& chosen,
                                                     const EvaluateOptions& options, int threads) {
  std::vector<Bootstrap::Column> columns;
  for (std::size_t p = 0; p < chosen.size(); ++p) {
    for (const Estimator* estimator : chosen[p]) columns.push_back({p, estimator});
  }
  std::size_t together = columns.size();
  if (outcome.memory_left > 0) {
    MemoryLedger ledger(outcome.memory_left);
    const std::size_t column = Bootstrap::column_bytes(options.replicates);
    const std::size_t thread = outcome.bootstrap->thread_bytes() + kThreadBytes;
    const auto most = static_cast<std::size_t>(resolve_threads(threads));
    threads = static_cast<int>(std::clamp<std::size_t>((ledger.left() - column) / thread, 1, most));
    ledger.charge(static_cast<std::size_t>(threads) * thread, "drawing bootstrap replicates", "fewer --replicates");
    together = std::clamp<std::size_t>(ledger.left() / column, 1, columns.size());
  }
  std::vector<Bounds> bounds;
  for (std::size_t first = 0; first < columns.size(); first += together) {
    const std::size_t count = std::min(together, columns.size() - first);
    std::vector<std::vector<double>> values = outcome.bootstrap->replicate(
        options.seed, options.replicates, std::span(columns).subspan(first, count), threads);
    for (std::vector<double>& one : values) bounds.push_back(percentile_interval(options.level, std::move(one)));
  }
  std::vector<std::vector<Bounds>> out;
  auto next = bounds.begin();
  for (const auto& estimators : chosen) {
    out.emplace_back(next, next + std::ssize(estimators));
    next += std::ssize(estimators);
  }
  return out;
}

PassOutcome run_evaluation_pass(Source& source, const std::vector<NamedPolicy>& policies,
                                const EvaluateOptions& options, const WeightOptions& rules, const ExtraTerms& extra,
                                const PassOptions& pass) {
  PassOutcome out;
  PassOptions inner = pass;
  if (options.interval == IntervalKind::bootstrap) {
    MemoryLedger ledger(pass.memory);
    ledger.charge(Bootstrap::bytes(source.rows(), policies.size(), extra),
                  fmt::format("the bootstrap of {} policies", policies.size()), "evaluate fewer policies at a time");
    inner.memory = ledger.left();
    out.memory_left = inner.memory;
    // Drawn after the pass, but refused before it.
    ledger.charge(Bootstrap::column_bytes(options.replicates),
                  fmt::format("a bootstrap of {} replicates", options.replicates), "fewer --replicates");
    out.bootstrap = std::make_unique<Bootstrap>(source.rows(), policies.size(), extra);
  }
  const EvaluationReduction reduction(policies, rules, extra, source.schema().num_actions, out.bootstrap.get());
  PassResult result = run_pass(source, reduction, inner);
  out.audit = std::move(result.audit);
  if (result.sums) out.sums = std::move(static_cast<EvaluationReduction::Sums&>(*result.sums).sums);
  return out;
}

PolicyReport report_policy(const PassOutcome& outcome, std::size_t p, const std::vector<const Estimator*>& chosen,
                           const std::vector<Bounds>& bootstrap, const ExtraTerms& extra, const WeightOptions& rules,
                           const EvaluateOptions& options) {
  const EvaluationSums& sums = outcome.sums;
  const FinalSums all = add_top_rows(sums.weights[p], rules);
  PolicyTotals totals{.rows = all.weights.weight.count,
                      .loss = sums.loss,
                      .weight = all.weights.weight,
                      .weighted_loss = all.weights.ips,
                      .terms = {},
                      .square = all.weights.square,
                      .additive = sums.additive[p]};
  PolicyReport out;
  out.diagnostics = diagnose(all.weights);
  Overflows overflows;
  for (std::size_t e = 0; e < chosen.size(); ++e) {
    const Estimator* estimator = chosen[e];
    totals.terms = terms_of(*estimator, all.weights, extra, sums.given.data() + p * extra.given.size());
    Estimate one =
        estimate(*estimator, totals, options, bootstrap.empty() ? Bounds() : bootstrap[e], out.diagnostics, overflows);
    if (estimator->parameter != EstimatorParameter::none) {
      one.parameter = parameter_value(*estimator, rules.alpha, all.clip);
    }
    out.estimates.push_back(std::move(one));
  }
  add_overflow_warnings(overflows, out.diagnostics);
  return out;
}

}  // namespace

EvaluationReport evaluate(Source& source, const std::vector<NamedPolicy>& policies, const EvaluateOptions& options,
                          const PassOptions& pass) {
  require_valid(options);
  std::vector<std::vector<const Estimator*>> chosen;
  ExtraTerms extra;
  for (const NamedPolicy& policy : policies) {
    chosen.push_back(choose_estimators(options, source.schema(), *policy.policy, policy.name));
    for (const Estimator* estimator : chosen.back()) extra.add(*estimator);
  }
  if (source.rows() == 0) throw Error(ErrorKind::data, "the data has no rows: there is nothing to evaluate");

  WeightOptions rules{options.alpha.value_or(1.0 / static_cast<double>(source.rows())), options.clip.value_or(0.0)};
  rules.ranges = options.interval == IntervalKind::bernstein;
  PassOutcome outcome = run_evaluation_pass(source, policies, options, rules, extra, pass);
  if (!options.skip_bad_rows) require_no_bad_rows(outcome.audit);
  const std::int64_t skipped = outcome.audit.bad_rows();
  // Fewer than the source's rows when some are bad, or when the source leaves rows out itself.
  const std::int64_t used = std::llround(outcome.sums.loss.count);
  if (used == 0) throw Error(ErrorKind::data, "every row of the data is bad: there is nothing to evaluate");
  if (used != source.rows() && !options.alpha) {
    // α = 1/n counts the rows that are left, and they are known only now.
    rules.alpha = 1.0 / static_cast<double>(used);
    outcome.bootstrap.reset();
    outcome = run_evaluation_pass(source, policies, options, rules, extra, pass);
  }

  EvaluationReport report;
  report.rows = used;
  report.skipped_rows = skipped;
  report.audit = std::move(outcome.audit);
  report.loss = outcome.sums.loss;
  std::vector<std::vector<Bounds>> bootstrap(policies.size());
  if (outcome.bootstrap) {
    for (std::size_t p = 0; p < policies.size() && rules.clip == 0; ++p) {
      const TopRows& top = outcome.sums.weights[p].top;
      outcome.bootstrap->clip_top_rows(p, top, top.entries[static_cast<std::size_t>(top.count - 1)].weight);
    }
    bootstrap = bootstrap_intervals(outcome, chosen, options, pass.threads);
  }
  for (std::size_t p = 0; p < policies.size(); ++p) {
    report.policies.push_back(report_policy(outcome, p, chosen[p], bootstrap[p], extra, rules, options));
    report.policies.back().name = policies[p].name;
  }
  return report;
}

}  // namespace scrm
