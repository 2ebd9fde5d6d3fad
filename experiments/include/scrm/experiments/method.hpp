/// Method: a way to choose policies, batch after batch. One file methods/NAME.cpp each, and a line in
/// methods/methods.inc.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/schedule/stop_token.hpp"
#include "scrm/experiments/problem.hpp"
#include "scrm/experiments/run_options.hpp"

namespace scrm {

/// What tells the runs of one environment, method and seed apart.
struct HyperParameters {
  LambdaChoice lambda;
  std::optional<double> l2 = 0.0;  ///< none: chosen at every rollout, on held-out rows
};

/// What a learner is given. The references outlive it.
struct LearnerSetup {
  const BanditProblem& problem;
  const RunOptions& options;
  std::span<const HyperParameters> runs;  ///< several when their logs are the same, else one
  std::uint64_t seed = 0;
  PassOptions pass;
  StopToken stop;
};

/// What a method does between batches.
class Learner {
 public:
  virtual ~Learner() = default;

  /// Learns from these rows, after batch number `batch` was logged.
  virtual void learn(Source& rows, int batch) = 0;
  /// What the given run has learned so far.
  virtual const Policy& policy(std::size_t run) const = 0;
  /// The policy that logs the next batch.
  virtual LoggingPolicy next_logging_policy() const = 0;
  /// Expected loss of what the given run has learned, on rows kept apart.
  virtual double test_loss(const BanditProblem& problem, std::size_t run) const {
    return problem.test_loss(policy(run));
  }

  /// Numbers worth keeping about the last learn of a run, each a curve of the archive.
  virtual std::map<std::string, double> metrics(std::size_t) const { return {}; }
  /// Rows that were read, times how often, for the rate that progress shows.
  virtual double rows_read() const { return 0; }
};

/// What a run needs beside its problem and its rows.
struct MethodResources {
  std::size_t bytes = 0;
  double cost = 0;   ///< as bytes that are gone through
  std::string hint;  ///< what to change where the bytes are too many, such as "use fewer points"
};

/// One method of the list.
struct MethodEntry {
  std::string name;
  std::string description;
  std::unique_ptr<Learner> (*make)(const LearnerSetup&) = nullptr;
  bool has_lambda = false;   ///< one run for each λ and l2, else one run
  bool learns = false;       ///< from logs; the others have one policy from the start
  bool deploys = false;      ///< what it learned logs the next batch, so that runs share nothing
  bool incremental = false;  ///< takes up each batch when it is logged and never asks for it again
  /// Why it cannot play in an environment under these options, such as "its actions are not bits"; empty where it can.
  /// Such pairs are left out of sweeps. Null: it can play everywhere.
  std::string (*inapplicable_reason)(const ProblemFactory&, const RunOptions&) = nullptr;
  /// What its λ is called where it is none, in tables and reports.
  std::string hyperparameter = "lambda";
  /// Its own λ, in place of the sweep's `lambdas`, unless the options have others for it.
  std::vector<double> lambdas = {};
  /// Where these others are; null: bandit_lambdas.
  const std::optional<std::vector<double>>& (*given_lambdas)(const RunOptions&) = nullptr;
  MethodResources (*resources)(const ProblemShape&, const RunOptions&, const HyperParameters&, int threads) = nullptr;
};

/// MethodEntry::make of a learner that takes its setup.
template <class OwnLearner>
std::unique_ptr<Learner> make_learner(const LearnerSetup& setup) {
  return std::make_unique<OwnLearner>(setup);
}

/// All methods, in the order of tables.
const std::deque<MethodEntry>& methods();

/// Adds one behind the others; a usage Error where the name is taken. To be called before anything runs.
void register_method(MethodEntry entry);

/// The method of that name; a usage Error lists the names there are.
const MethodEntry& find_method(const std::string& name);

}  // namespace scrm
