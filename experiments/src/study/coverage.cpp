#include "study/coverage.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "scrm/io/file/error.hpp"
#include "study/log_jobs.hpp"
#include "study/tally.hpp"

namespace scrm {
namespace {

// What bootstrap replicates add to an evaluation.
constexpr std::size_t kBootstrapBytes = std::size_t{8} << 20;

constexpr const char* kDifference = "-difference";

/// Logs of one design and size, and what is asked of them.
struct LogGroup {
  const StudyDesign* design = nullptr;
  std::int64_t rows = 0;
  std::vector<std::vector<Tally>> chunks;  // tallies of each job, estimators × intervals
};

const Estimate* find_estimate(const std::vector<Estimate>& estimates, const std::string& name) {
  const auto found = std::find_if(estimates.begin(), estimates.end(),
                                  [&name](const Estimate& estimate) { return estimate.estimator == name; });
  return found == estimates.end() ? nullptr : &*found;
}

/// The report of one policy, or why there is none.
struct Outcome {
  std::optional<PolicyReport> report;
  std::string refusal;

  /// The estimate of a policy's value, or of its difference to the logged actions.
  const Estimate* find(const std::string& estimator, bool difference) const {
    if (!report || (difference && !report->difference)) return nullptr;
    return find_estimate(difference ? report->difference->estimates : report->estimates, estimator);
  }
};

/// Draws, evaluates and tallies logs one after the other.
class LogRunner {
 public:
  LogRunner(const CoverageOptions& options, const LogGroup& group) : options_(options), group_(group) {}

  /// Tallies of logs [first, last): for each estimator its value and its difference, each by interval.
  std::vector<Tally> run(std::int64_t first, std::int64_t last, const StopToken& stop) const {
    std::vector<Tally> tallies(2 * group_.design->estimators.size() * options_.intervals.size());
    for (std::int64_t log = first; log < last; ++log) {
      stop.check();
      add_log({options_.seed, group_.rows, log}, tallies);
    }
    return tallies;
  }

 private:
  void add_log(const LogKey& key, std::vector<Tally>& tallies) const {
    DrawnLog log = draw_log(*group_.design, key);
    const Outcome normal = evaluate_log(log, key, IntervalKind::normal);
    for (std::size_t i = 0; i < options_.intervals.size(); ++i) {
      const IntervalKind kind = options_.intervals[i];
      if (kind == IntervalKind::normal) {
        add_outcome(normal, normal, i, tallies);
      } else {
        add_outcome(evaluate_log(log, key, kind), normal, i, tallies);
      }
    }
  }

  Outcome evaluate_log(DrawnLog& log, const LogKey& key, IntervalKind kind) const {
    const StudyDesign& design = *group_.design;
    EvaluateOptions evaluation;
    evaluation.estimators = design.estimators;
    evaluation.interval = kind;
    evaluation.level = options_.level;
    evaluation.outcome_range = design.outcome_range;
    evaluation.max_weight = design.max_weight;
    if (kind == IntervalKind::bootstrap) evaluation.seed = bootstrap_seed(design, key);
    PassOptions pass;
    pass.threads = 1;
    Outcome outcome = try_evaluation(log, evaluation, pass);
    if (outcome.report) return outcome;
    // Some estimators may have no intervals of this kind: the others are studied all the same.
    evaluation.estimators.clear();
    Outcome others = try_evaluation(log, evaluation, pass);
    others.refusal = outcome.refusal;
    return others;
  }

  static Outcome try_evaluation(DrawnLog& log, const EvaluateOptions& evaluation, const PassOptions& pass) {
    try {
      return {evaluate(log.source, {log.policy}, evaluation, pass).policies.front(), ""};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage && error.kind() != ErrorKind::data) throw;
      return {std::nullopt, error.what()};
    }
  }

  void add_outcome(const Outcome& outcome, const Outcome& normal, std::size_t interval,
                   std::vector<Tally>& tallies) const {
    const StudyDesign& design = *group_.design;
    for (std::size_t e = 0; e < design.estimators.size(); ++e) {
      for (const bool difference : {false, true}) {
        Tally& tally = tallies[(2 * e + difference) * options_.intervals.size() + interval];
        const Estimate* estimate = outcome.find(design.estimators[e], difference);
        if (estimate == nullptr) {
          tally.add_refusal(outcome.refusal.empty() ? "the estimator has no difference" : outcome.refusal);
          continue;
        }
        const double truth = difference ? design.value - design.logged_mean : design.value;
        tally.add(*estimate, normal.find(design.estimators[e], difference), truth, outcome.report->diagnostics);
      }
    }
  }

  const CoverageOptions& options_;
  const LogGroup& group_;
};

void require_valid(const CoverageOptions& options) {
  require_log_counts(options.logs, options.rows);
  if (!(options.level > 0 && options.level < 1))
    throw Error(ErrorKind::usage, "the level must lie between 0 and 1, as in 0.95");
}

std::vector<LogGroup> make_groups(const CoverageOptions& options) {
  std::vector<LogGroup> groups;
  for (const StudyDesign* design : options.designs) {
    for (const std::int64_t rows : options.rows.empty() ? design->rows : options.rows) {
      const std::int64_t size = chunk_logs(rows, options.logs);
      groups.push_back({design, rows, {}});
      groups.back().chunks.resize(static_cast<std::size_t>((options.logs + size - 1) / size));
    }
  }
  return groups;
}

std::vector<Job> make_jobs(const CoverageOptions& options, std::vector<LogGroup>& groups) {
  const bool bootstrap =
      std::find(options.intervals.begin(), options.intervals.end(), IntervalKind::bootstrap) != options.intervals.end();
  std::vector<Job> jobs;
  for (LogGroup& group : groups) {
    const std::size_t memory =
        log_bytes(*group.design, group.rows) + kEvaluationBytes + (bootstrap ? kBootstrapBytes : 0);
    add_log_jobs({*group.design, group.rows, options.logs, memory}, jobs,
                 [&options, &group](std::size_t chunk, LogRange range, const StopToken& stop) {
                   group.chunks[chunk] = LogRunner(options, group).run(range.first, range.last, stop);
                 });
  }
  return jobs;
}

void add_records(const CoverageOptions& options, const LogGroup& group, std::vector<CoverageRecord>& records) {
  std::vector<Tally> totals = group.chunks.front();
  for (std::size_t c = 1; c < group.chunks.size(); ++c) {
    for (std::size_t t = 0; t < totals.size(); ++t) totals[t].merge(group.chunks[c][t]);
  }
  for (std::size_t t = 0; t < totals.size(); ++t) {
    const std::size_t row = t / options.intervals.size();
    CoverageRecord record = totals[t].record();
    record.design = group.design->name;
    record.rows = group.rows;
    record.estimator = group.design->estimators[row / 2] + (row % 2 == 1 ? kDifference : "");
    record.interval = definition_of(options.intervals[t % options.intervals.size()]).name;
    records.push_back(std::move(record));
  }
}

}  // namespace

std::vector<CoverageRecord> run_coverage_study(const CoverageOptions& options) {
  require_valid(options);
  std::vector<LogGroup> groups = make_groups(options);
  std::vector<Job> jobs = make_jobs(options, groups);
  run_log_jobs(std::move(jobs), options.threads, options.memory, options.progress);

  std::vector<CoverageRecord> records;
  for (const LogGroup& group : groups) add_records(options, group, records);
  return records;
}

}  // namespace scrm
