#include "scrm/engine/estimate/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "estimate/difference.hpp"
#include "estimate/evaluation_reduction.hpp"
#include "estimate/intervals/bootstrap.hpp"
#include "estimate/intervals/interval_inputs.hpp"
#include "estimate/policy_reports.hpp"
#include "estimate/tuning.hpp"
#include "pass/pass_plan.hpp"
#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/ranks/ranks.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/threads.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

/// Why the estimator cannot be had of this data, policy and model; empty where it can.
std::string inapplicable_reason(const Estimator& estimator, const EvaluateOptions& options, const Schema& schema,
                                const TargetPolicy& policy) {
  std::string reason = estimator.inapplicable_reason(schema, policy);
  if (!reason.empty() || !estimator.needs_model) return reason;
  if (options.model && estimator.label_sums && !options.model->is_linear_in_labels())
    return "it needs a model that is linear in the labels, as that of --model ridge is";
  return options.model
             ? options.model->inapplicable_reason(policy)
             : "there is no model: --model ridge fits one, --model NAME reads the predictions of an outside one";
}

/// The estimators asked for that apply to this policy. Throws for names nobody knows, and for one that was asked for by
/// name but applies to no policy.
std::vector<const Estimator*> choose_estimators(const EvaluateOptions& options, const Schema& schema,
                                                const TargetPolicy& policy, const std::string& policy_name) {
  std::vector<const Estimator*> chosen;
  const bool bounded = options.outcome_range && options.max_weight;
  if (options.estimators.empty()) {
    for (const Estimator* estimator : all_estimators()) {
      if (estimator->by_default && inapplicable_reason(*estimator, options, schema, policy).empty() &&
          inapplicable_interval_reason(options.interval, *estimator, bounded).empty())
        chosen.push_back(estimator);
    }
    return chosen;
  }
  for (const std::string& name : options.estimators) {
    chosen.push_back(&find_estimator(name));
    const std::string inapplicable = inapplicable_reason(*chosen.back(), options, schema, policy);
    if (!inapplicable.empty()) refuse_estimator(*chosen.back(), inapplicable, policy_name);
    const std::string reason = inapplicable_interval_reason(options.interval, *chosen.back(), bounded);
    if (!reason.empty()) throw Error(ErrorKind::usage, fmt::format("estimator '{}': {}", name, reason));
  }
  return chosen;
}

struct PassOutcome {
  EvaluationSums sums;
  Audit audit;
  // One of them.
  std::unique_ptr<RowGroups> rows;
  std::unique_ptr<ClusterGroups> clusters;
  std::size_t memory_left = 0;  // beside the groups; 0: no limit

  const GroupTable& groups() const { return clusters ? clusters->table() : rows->table(); }
  GroupTable& groups() { return clusters ? clusters->table() : rows->table(); }
};

bool draws_replicates(const EvaluateOptions& options) {
  return options.interval == IntervalKind::bootstrap || options.simultaneous;
}

/// Replicates are drawn anew for as many columns as fit the memory: their bits stay the same.
class ReplicateTiles {
 public:
  ReplicateTiles(const PassOutcome& outcome, const EvaluateOptions& options, const PassOptions& pass)
      : table_(outcome.groups()), options_(options), threads_(pass.threads), stop_(pass.stop) {
    if (outcome.memory_left == 0) return;
    MemoryLedger ledger(outcome.memory_left);
    const std::size_t column = bootstrap_column_bytes(options.replicates);
    const std::size_t thread = bootstrap_thread_bytes(table_.layout) + kThreadBytes;
    const auto most = static_cast<std::size_t>(resolve_threads(pass.threads));
    threads_ = static_cast<int>(std::clamp<std::size_t>((ledger.left() - column) / thread, 1, most));
    ledger.charge(static_cast<std::size_t>(threads_) * thread, "drawing bootstrap replicates", "fewer --replicates");
    together_ = std::max<std::size_t>(1, ledger.left() / column);
  }

  /// Calls take(column, values) for every column.
  template <class Take>
  void each(std::span<const EstimateColumn> columns, Take take) const {
    for (std::size_t first = 0; first < columns.size(); first += together_) {
      const std::size_t count = std::min(together_, columns.size() - first);
      std::vector<std::vector<double>> values = bootstrap_replicates(table_, options_.seed, options_.replicates,
                                                                     columns.subspan(first, count), threads_, stop_);
      for (std::size_t c = 0; c < count; ++c) take(first + c, std::move(values[c]));
    }
  }

 private:
  const GroupTable& table_;
  const EvaluateOptions& options_;
  int threads_;
  const StopToken& stop_;
  std::size_t together_ = std::numeric_limits<std::size_t>::max() / 2;
};

/// Of several columns at once: in all but 1 − level of the replicates none of them is further from its value.
double largest_deviation(std::vector<double> largest, double level) {
  const auto at = static_cast<std::size_t>(std::ceil(level * static_cast<double>(largest.size()))) - 1;
  std::nth_element(largest.begin(), largest.begin() + static_cast<std::ptrdiff_t>(at), largest.end());
  return largest[at];
}

/// Standard errors to either side of every column, so that those of one estimator hold for all policies at once.
void add_simultaneous(const PassOutcome& outcome, const std::vector<double>& totals,
                      const std::vector<EstimateColumn>& columns, const ReplicateTiles& tiles,
                      const EvaluateOptions& options, std::vector<EstimateFacts>& facts) {
  const GroupTable& table = outcome.groups();
  using Family = std::pair<const Estimator*, Baseline::Kind>;
  const auto family = [](const EstimateColumn& column) { return Family{column.estimator, column.baseline.kind}; };
  std::map<Family, std::vector<double>> largest;
  tiles.each(columns, [&](std::size_t c, std::vector<double> values) {
    std::vector<double>& most = largest[family(columns[c])];
    most.resize(values.size());
    const bool finite = std::all_of(values.begin(), values.end(), [](double one) { return std::isfinite(one); });
    if (!finite) facts[c].critical = std::numeric_limits<double>::quiet_NaN();
    if (!finite || !facts[c].shape || !facts[c].shape->varies()) return;
    const double value = table.layout.value(totals.data(), columns[c]), error = facts[c].shape->standard_error;
    for (std::size_t r = 0; r < values.size(); ++r) {
      most[r] = std::max(most[r], std::abs(values[r] - value) / error);
    }
  });
  std::map<Family, double> critical;
  for (auto& [which, most] : largest) critical[which] = largest_deviation(std::move(most), options.level);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!facts[c].critical) facts[c].critical = critical[family(columns[c])];
  }
}

/// Shapes of estimates, each found once.
class ColumnShapes {
 public:
  ColumnShapes(const GroupTable& groups, const std::vector<double>& totals) : groups_(groups), totals_(totals) {}

  const std::optional<Shape>& find(const EstimateColumn& column) {
    const bool difference = column.baseline.kind != Baseline::Kind::none;
    const auto [found, added] = shapes_.try_emplace({column.policy, column.estimator, difference});
    std::optional<Shape>& shape = found->second;
    if (!added) return shape;
    shape = shape_of(groups_, totals_, column);
    if (!shape || !difference) return shape;
    const std::optional<Shape>& value = find({column.policy, column.estimator, {}});
    if (value) shape = with_hidden_skewness(*shape, *value);
    return shape;
  }

 private:
  const GroupTable& groups_;
  const std::vector<double>& totals_;
  std::map<std::tuple<std::size_t, const Estimator*, bool>, std::optional<Shape>> shapes_;
};

/// What groups of rows say of every column.
std::vector<EstimateFacts> estimate_facts(const PassOutcome& outcome, const std::vector<double>& totals,
                                          const std::vector<EstimateColumn>& columns, const EvaluateOptions& options,
                                          const PassOptions& pass) {
  std::vector<EstimateFacts> facts(columns.size());
  ColumnShapes shapes(outcome.groups(), totals);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const EstimateColumn& column = columns[c];
    facts[c].shape = shapes.find(column);
    const WeightTransform transform = column.estimator->transform;
    if (transform == WeightTransform::clip || transform == WeightTransform::ix)
      facts[c].whole_shape = shapes.find({column.policy, &kIpsEstimator, column.baseline});
  }
  if (!draws_replicates(options)) return facts;
  const ReplicateTiles tiles(outcome, options, pass);
  if (options.simultaneous) {
    add_simultaneous(outcome, totals, columns, tiles, options, facts);
    return facts;
  }
  tiles.each(columns, [&](std::size_t c, std::vector<double> values) {
    const bool difference = columns[c].baseline.kind != Baseline::Kind::none;
    facts[c].bootstrap =
        replicate_facts(std::move(values), options.level, difference ? 0.0 : options.loss_threshold.value_or(0));
  });
  return facts;
}

/// The groups that the options ask for, charged to the memory of the pass.
void make_groups(const Source& source, std::size_t policies, const EvaluateOptions& options, const ExtraTerms& extra,
                 std::size_t& memory, PassOutcome& out) {
  const GroupLayout layout(policies, extra);
  const bool clustered = source.schema().cluster;
  const std::int64_t size = draws_replicates(options) ? RowGroups::bootstrap_group_rows(source.rows())
                                                      : RowGroups::shape_group_rows(source.rows(), layout.load());
  MemoryLedger ledger(memory);
  ledger.charge(clustered ? ClusterGroups::bytes(layout) : RowGroups::bytes(source.rows(), size, layout),
                fmt::format("the groups of rows of {} {}", policies, policies == 1 ? "policy" : "policies"),
                "evaluate fewer policies at a time");
  memory = ledger.left();
  out.memory_left = memory;
  // Drawn after the pass, but refused before it.
  // Simultaneous intervals keep the largest deviations of every estimator and of its differences.
  const std::size_t columns = options.simultaneous ? 1 + 2 * all_estimators().size() : 1;
  if (draws_replicates(options))
    ledger.charge(columns * bootstrap_column_bytes(options.replicates),
                  fmt::format("a bootstrap of {} replicates", options.replicates), "fewer --replicates");
  if (clustered)
    out.clusters = std::make_unique<ClusterGroups>(layout);
  else
    out.rows = std::make_unique<RowGroups>(source.rows(), size, layout);
}

/// The λ that was given as α, or from 1 down to n^−1.5, in units of what losses can differ by: that of the least bound
/// lies within.
std::vector<SmoothedTerms> smoothing_grid(const EvaluateOptions& options, std::int64_t rows) {
  constexpr int kSteps = 12, kStepsToOneOverRows = 8;
  const OutcomeRange range = options.outcome_range.value_or(OutcomeRange{-1, 0});
  if (options.alpha) return {{.lambda = *options.alpha, .centre = range.high, .terms = {}}};
  std::vector<SmoothedTerms> grid;
  for (int step = 0; step <= kSteps; ++step) {
    const double share = std::pow(static_cast<double>(rows), -static_cast<double>(step) / kStepsToOneOverRows);
    grid.push_back({.lambda = share / (range.high - range.low), .centre = range.high, .terms = {}});
  }
  return grid;
}

PassOutcome run_evaluation_pass(Source& source, const std::vector<NamedPolicy>& policies,
                                const EvaluateOptions& options, const WeightOptions& rules, const ExtraTerms& extra,
                                const Baseline& baseline, const PassOptions& pass) {
  PassOutcome out;
  PassOptions inner = pass;
  make_groups(source, policies.size(), options, extra, inner.memory, out);
  EvaluationExtras extras{.rows = out.rows.get(),
                          .clusters = out.clusters.get(),
                          .sequence_centre = {},
                          .smoothed = {},
                          .model = options.model.get(),
                          .ranked = pass.ranks != nullptr && !pass.ranks->alone()};
  if (extra.smoothed) extras.smoothed = smoothing_grid(options, source.rows());
  if (options.interval == IntervalKind::sequence && options.outcome_range && options.max_weight)
    extras.sequence_centre = KnownBounds{.outcome = *options.outcome_range}.centre();
  const EvaluationReduction reduction(policies, rules, extra, baseline, source, extras);
  PassResult result = run_pass(source, reduction, inner);
  out.audit = std::move(result.audit);
  if (result.sums) out.sums = std::move(static_cast<EvaluationReduction::Sums&>(*result.sums).sums);
  if (out.clusters && extras.ranked) out.clusters->add(std::exchange(out.sums.clusters, {}));
  return out;
}

/// Whoever gave a model should know why its estimators are not there.
void say_where_model_is_missing(const OutcomeModel& model, const std::vector<NamedPolicy>& policies,
                                EvaluationReport& report) {
  for (std::size_t p = 0; p < policies.size(); ++p) {
    const std::string reason = model.inapplicable_reason(*policies[p].policy);
    if (!reason.empty())
      report.policies[p].diagnostics.warnings.push_back("model-assisted estimates are left out: " + reason);
  }
}

/// M is known now: the largest weights come down to it.
void clip_groups(PassOutcome& outcome, const WeightOptions& rules) {
  for (std::size_t p = 0; p < outcome.sums.weights.size() && rules.clip == 0; ++p) {
    const TopRows& top = outcome.sums.weights[p].top;
    const double clip = top.count > 0 ? top.entries[static_cast<std::size_t>(top.count - 1)].weight : 0;
    if (outcome.rows) outcome.rows->clip_top_rows(p, top, clip);
    if (outcome.clusters) outcome.clusters->clip_top_rows(p, clip);
  }
}

}  // namespace

void require_valid(const EvaluateOptions& options) {
  for (const std::string& name : options.estimators) find_estimator(name);
  require_valid_parameters(options.alpha, options.clip);
  if (!(options.level > 0 && options.level < 1)) {
    throw Error(ErrorKind::usage, fmt::format("level is {}, but must lie between 0 and 1, as in 0.95", options.level));
  }
  if (options.replicates < 2) throw Error(ErrorKind::usage, "a bootstrap needs at least two replicates");
}

EvaluationReport evaluate(Source& source, const std::vector<NamedPolicy>& policies, const EvaluateOptions& options,
                          const PassOptions& pass) {
  require_valid(options);
  const bool clustered = source.schema().cluster;
  require_valid_interval(options, clustered);
  const Baseline baseline = find_baseline(options.baseline, policies);
  std::vector<std::vector<const Estimator*>> chosen;
  ExtraTerms extra;
  for (const NamedPolicy& policy : policies) {
    chosen.push_back(choose_estimators(options, source.schema(), *policy.policy, policy.name));
    for (const Estimator* estimator : chosen.back()) extra.add(*estimator);
  }
  if (source.rows() == 0) throw Error(ErrorKind::data, "the data has no rows: there is nothing to evaluate");
  if (!extra.tuned.empty()) extra.scales = tuning_scales(source.rows());

  WeightOptions rules{options.alpha.value_or(1.0 / static_cast<double>(source.rows())), options.clip.value_or(0.0)};
  rules.ranges = options.interval == IntervalKind::bernstein;
  PassOutcome outcome = run_evaluation_pass(source, policies, options, rules, extra, baseline, pass);
  if (!options.skip_bad_rows) require_no_bad_rows(outcome.audit);
  const std::int64_t skipped = outcome.audit.bad_rows();
  // Fewer than the source's rows when some are bad, or when the source leaves rows out itself.
  const std::int64_t used = std::llround(outcome.sums.loss.count);
  if (used == 0) throw Error(ErrorKind::data, "every row of the data is bad: there is nothing to evaluate");
  if (used != source.rows() && !options.alpha) {
    // α = 1/n counts the rows that are left, and they are known only now.
    rules.alpha = 1.0 / static_cast<double>(used);
    outcome = {};
    outcome = run_evaluation_pass(source, policies, options, rules, extra, baseline, pass);
  }

  EvaluationReport report;
  report.rows = used;
  report.skipped_rows = skipped;
  report.audit = std::move(outcome.audit);
  report.loss = outcome.sums.loss;
  clip_groups(outcome, rules);
  if (!extra.tuned.empty()) choose_scales(options.tuning, *options.model, policies, outcome.groups());
  if (extra.model) {
    report.model = options.model->name();
    report.model_penalty = options.model->penalty();
  }
  if (clustered) report.clusters = outcome.clusters->table().groups;
  report.clusters_merged = clustered && outcome.clusters->merged();
  const std::vector<double> totals = outcome.groups().totals();
  const std::vector<EstimateFacts> facts =
      estimate_facts(outcome, totals, estimate_columns(chosen, baseline), options, pass);
  if (clustered && *report.clusters > 1)
    report.loss_error = shape_of_losses(outcome.groups(), totals).standard_error;
  else if (!clustered && used > 1)
    report.loss_error = report.loss.standard_deviation() / std::sqrt(report.loss.count);
  const bool reward = source.schema().outcome == Outcome::reward;
  report_policies({outcome.sums, chosen, extra, rules, baseline, options, outcome.groups(), totals, clustered, reward,
                   source.schema().num_actions},
                  policies, facts, report);
  if (options.model && options.estimators.empty()) say_where_model_is_missing(*options.model, policies, report);
  return report;
}

}  // namespace scrm
