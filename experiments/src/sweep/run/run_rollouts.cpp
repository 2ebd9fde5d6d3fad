#include "sweep/run/run_rollouts.hpp"

#include <cmath>
#include <limits>

#include "sweep/plan.hpp"
#include "sweep/run/logged_batches.hpp"

namespace scrm {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Adds what a run has to show after rollout `m`, whose batch and all before it count `rows` rows.
void record_rollout(const BanditProblem& problem, const Learner& learner, std::size_t run, int m, std::int64_t rows,
                    std::optional<double> optimum, RunRecord& record) {
  // What learns nothing has the same loss at every rollout: it is worked out once.
  const bool same = m > 0 && rows == 0;
  const double loss = same ? record.loss.back() : learner.test_loss(problem, run);
  record.loss.push_back(loss);
  record.rows.push_back(rows);
  // R = Σ_m Δ_m n_{m+1}: the m-th learned policy's excess over the optimum, on the batch that follows it.
  const double before = record.regret.empty() ? 0.0 : record.regret.back();
  record.regret.push_back(optimum ? before + (loss - *optimum) * static_cast<double>(problem.shape().batch_rows(m + 1))
                                  : kNaN);
  for (const auto& [name, value] : learner.metrics(run)) {
    std::vector<double>& curve = record.curves[name];
    curve.resize(static_cast<std::size_t>(m), kNaN);
    curve.push_back(value);
  }
}

}  // namespace

std::vector<RunRecord> run_rollouts(const MethodEntry& method, const LearnerSetup& setup,
                                    const RolloutProgress& progress) {
  const BanditProblem& problem = setup.problem;
  const int rollouts = setup.options.rollouts;
  std::vector<RunRecord> records(setup.runs.size());
  const std::unique_ptr<Learner> learner = method.make(setup);
  const std::optional<double> optimum = problem.optimum();
  const PastRollouts past = method.incremental ? PastRollouts::last : setup.options.past;
  // A model knows what a batch costs by itself.
  const bool additive = setup.options.estimator->label_sums && !setup.options.estimator->needs_model;
  LoggedBatches log(problem, method.deploys ? past : PastRollouts::naive, additive, setup.pass);
  LoggingPolicy logging_policy{problem.first_policy(method.deploys), false};
  double read = 0;
  for (int m = 0; m < rollouts; ++m) {
    // A run in its last rollout is nearly done and may end.
    if (m + 1 < rollouts) setup.stop.check();
    if (method.learns) {
      log.add(logging_policy);
      learner->learn(log.rows(), m);
      logging_policy = learner->next_logging_policy();
    }
    for (std::size_t r = 0; r < records.size(); ++r) {
      record_rollout(problem, *learner, r, m, log.rows_logged(), optimum, records[r]);
    }
    if (progress) progress(m + 1, learner->rows_read() - read);
    read = learner->rows_read();
  }
  for (std::size_t r = 0; r < records.size(); ++r) {
    RunRecord& record = records[r];
    record.final_loss = record.loss.back();
    record.theta = learner->policy(r).theta;
    for (auto& [name, curve] : record.curves) curve.resize(record.loss.size(), kNaN);
    record.numbers["l2"] = ridge_number(setup.runs[r]);
    if (optimum) record.numbers["optimum"] = *optimum;
  }
  return records;
}

}  // namespace scrm
