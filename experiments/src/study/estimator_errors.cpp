#include "study/estimator_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"
#include "study/log_jobs.hpp"
#include "study/monte_carlo.hpp"

namespace scrm {
namespace {

EvaluateOptions evaluation_of(DrawnLog& log, std::vector<std::string> estimators, const PassOptions& pass) {
  EvaluateOptions evaluation;
  evaluation.estimators = std::move(estimators);
  evaluation.interval = IntervalKind::normal;
  evaluation.baseline.clear();
  evaluation.model = fit_ridge_model(log.source, {}, pass);
  return evaluation;
}

std::vector<Estimate> evaluate_log(DrawnLog& log, const std::vector<std::string>& estimators, const PassOptions& pass) {
  return evaluate(log.source, {log.policy}, evaluation_of(log, estimators, pass), pass).policies.front().estimates;
}

PassOptions one_thread() {
  PassOptions pass;
  pass.threads = 1;
  return pass;
}

/// All estimators that apply to the design's logs: those that are evaluated by default, and of the others those that
/// the first log does not refuse.
std::vector<std::string> applicable_estimators(const StudyDesign& design, const LogKey& key) {
  DrawnLog log = draw_log(design, key);
  std::vector<std::string> names;
  for (const Estimate& estimate : evaluate_log(log, {}, one_thread())) names.push_back(estimate.estimator);
  for (const Estimator* estimator : all_estimators()) {
    if (estimator->by_default) continue;
    try {
      evaluate_log(log, {estimator->name}, one_thread());
      names.emplace_back(estimator->name);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage && error.kind() != ErrorKind::data) throw;
    }
  }
  return names;
}

/// Logs of one design and size, and what estimators made of them: NaN where there is no value.
struct ErrorGroup {
  const StudyDesign* design = nullptr;
  std::int64_t rows = 0;
  std::vector<std::string> estimators;
  std::vector<double> values;  // [logs, estimators]
};

void add_log(const LogKey& key, ErrorGroup& group) {
  DrawnLog log = draw_log(*group.design, key);
  const std::vector<Estimate> estimates = evaluate_log(log, group.estimators, one_thread());
  const auto first = static_cast<std::size_t>(key.log) * group.estimators.size();
  for (std::size_t e = 0; e < group.estimators.size(); ++e) {
    const auto found = std::find_if(estimates.begin(), estimates.end(), [&](const Estimate& estimate) {
      return estimate.estimator == group.estimators[e];
    });
    group.values[first + e] =
        found != estimates.end() ? found->value.value_or(EstimatorRecord::kNone) : EstimatorRecord::kNone;
  }
}

/// What estimators make of every log is held to the end.
std::vector<ErrorGroup> make_groups(const StudyOptions& options, MemoryLedger& ledger) {
  std::vector<ErrorGroup> groups;
  for (const StudyDesign* design : options.designs) {
    for (const std::int64_t rows : options.rows.empty() ? design->rows : options.rows) {
      ErrorGroup group{design, rows, applicable_estimators(*design, {options.seed, rows, 0}), {}};
      const std::size_t values = static_cast<std::size_t>(options.logs) * group.estimators.size();
      ledger.charge(values * sizeof(double), fmt::format("the estimates of {} logs", options.logs), "fewer --logs");
      group.values.resize(values);
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

EstimatorRecord record_of(const ErrorGroup& group, std::size_t estimator, std::int64_t logs) {
  std::vector<double> values;
  for (std::size_t log = 0; log < static_cast<std::size_t>(logs); ++log) {
    const double value = group.values[log * group.estimators.size() + estimator];
    if (!std::isnan(value)) values.push_back(value);
  }
  EstimatorRecord record;
  record.design = group.design->name;
  record.rows = group.rows;
  record.estimator = group.estimators[estimator];
  record.truth = group.design->value;
  record.logs = std::ssize(values);
  record.undefined = logs - record.logs;
  if (values.empty()) return record;
  const EstimateErrors errors = errors_of(values, record.truth);
  record.bias = errors.bias.mean;
  record.bias_error = errors.bias.error;
  record.variance = errors.variance.mean;
  record.variance_error = errors.variance.error;
  record.mse = errors.squared_error.mean;
  record.mse_error = errors.squared_error.error;
  return record;
}

}  // namespace

std::vector<EstimatorRecord> run_estimator_study(const StudyOptions& options) {
  require_log_counts(options.logs, options.rows);
  MemoryLedger ledger(options.memory);
  std::vector<ErrorGroup> groups = make_groups(options, ledger);
  std::vector<Job> jobs;
  for (ErrorGroup& group : groups) {
    const LogJobs logs{*group.design, group.rows, options.logs,
                       log_bytes(*group.design, group.rows) + kEvaluationBytes};
    add_log_jobs(logs, jobs, [&options, &group](std::size_t, LogRange range, const StopToken& stop) {
      for (std::int64_t log = range.first; log < range.last; ++log) {
        stop.check();
        add_log({options.seed, group.rows, log}, group);
      }
    });
  }
  run_log_jobs(std::move(jobs), options.threads, ledger.left(), options.progress);
  std::vector<EstimatorRecord> records;
  for (const ErrorGroup& group : groups) {
    for (std::size_t e = 0; e < group.estimators.size(); ++e) records.push_back(record_of(group, e, options.logs));
  }
  return records;
}

}  // namespace scrm
