#include "scrm/engine/estimate/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "estimate/difference.hpp"
#include "estimate/evaluation_reduction.hpp"
#include "estimate/intervals/bootstrap.hpp"
#include "estimate/intervals/intervals.hpp"
#include "estimate/policy_reports.hpp"
#include "pass/pass_plan.hpp"
#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/threads.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

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

/// Bootstrap intervals of the columns, in their order. Replicates are drawn anew for as many columns as fit the memory:
/// their bits stay the same.
std::vector<Bounds> bootstrap_intervals(const PassOutcome& outcome, const std::vector<Bootstrap::Column>& columns,
                                        const EvaluateOptions& options, int threads) {
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
  return bounds;
}

/// The bootstrap's columns: the estimates of every policy, and then its differences.
std::vector<Bootstrap::Column> bootstrap_columns(const std::vector<std::vector<const Estimator*>>& chosen,
                                                 const Baseline& baseline) {
  std::vector<Bootstrap::Column> columns;
  for (std::size_t p = 0; p < chosen.size(); ++p) {
    for (const Estimator* estimator : chosen[p]) columns.push_back({p, estimator, {}});
    for (const Estimator* estimator : difference_estimators(chosen, baseline, p))
      columns.push_back({p, estimator, baseline});
  }
  return columns;
}

PassOutcome run_evaluation_pass(Source& source, const std::vector<NamedPolicy>& policies,
                                const EvaluateOptions& options, const WeightOptions& rules, const ExtraTerms& extra,
                                const Baseline& baseline, const PassOptions& pass) {
  PassOutcome out;
  PassOptions inner = pass;
  if (options.interval == IntervalKind::bootstrap) {
    MemoryLedger ledger(pass.memory);
    ledger.charge(Bootstrap::bytes(source.rows(), policies.size(), extra),
                  fmt::format("the bootstrap of {} {}", policies.size(), policies.size() == 1 ? "policy" : "policies"),
                  "evaluate fewer policies at a time");
    inner.memory = ledger.left();
    out.memory_left = inner.memory;
    // Drawn after the pass, but refused before it.
    ledger.charge(Bootstrap::column_bytes(options.replicates),
                  fmt::format("a bootstrap of {} replicates", options.replicates), "fewer --replicates");
    out.bootstrap = std::make_unique<Bootstrap>(source.rows(), policies.size(), extra);
  }
  const EvaluationReduction reduction(policies, rules, extra, baseline, source.schema().num_actions,
                                      out.bootstrap.get());
  PassResult result = run_pass(source, reduction, inner);
  out.audit = std::move(result.audit);
  if (result.sums) out.sums = std::move(static_cast<EvaluationReduction::Sums&>(*result.sums).sums);
  return out;
}

}  // namespace

EvaluationReport evaluate(Source& source, const std::vector<NamedPolicy>& policies, const EvaluateOptions& options,
                          const PassOptions& pass) {
  require_valid(options);
  const Baseline baseline = find_baseline(options.baseline, policies);
  std::vector<std::vector<const Estimator*>> chosen;
  ExtraTerms extra;
  for (const NamedPolicy& policy : policies) {
    chosen.push_back(choose_estimators(options, source.schema(), *policy.policy, policy.name));
    for (const Estimator* estimator : chosen.back()) extra.add(*estimator);
  }
  if (source.rows() == 0) throw Error(ErrorKind::data, "the data has no rows: there is nothing to evaluate");

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
    outcome.bootstrap.reset();
    outcome = run_evaluation_pass(source, policies, options, rules, extra, baseline, pass);
  }

  EvaluationReport report;
  report.rows = used;
  report.skipped_rows = skipped;
  report.audit = std::move(outcome.audit);
  report.loss = outcome.sums.loss;
  std::vector<Bounds> bounds;
  if (outcome.bootstrap) {
    for (std::size_t p = 0; p < policies.size() && rules.clip == 0; ++p) {
      const TopRows& top = outcome.sums.weights[p].top;
      outcome.bootstrap->clip_top_rows(p, top, top.entries[static_cast<std::size_t>(top.count - 1)].weight);
    }
    bounds = bootstrap_intervals(outcome, bootstrap_columns(chosen, baseline), options, pass.threads);
  }
  report_policies({outcome.sums, chosen, extra, rules, baseline, options}, policies, bounds, report);
  return report;
}

}  // namespace scrm
