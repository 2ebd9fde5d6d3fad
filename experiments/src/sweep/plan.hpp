/// SweepPlan: every run that a sweep file asks for, and what tells it from any other run there ever was.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scrm/experiments/method.hpp"
#include "scrm/experiments/problem.hpp"
#include "scrm/experiments/sweep.hpp"
#include "scrm/experiments/sweep_file.hpp"
#include "scrm/io/archive/run_record.hpp"

namespace scrm {

/// One environment and one method, with the options that hold for both.
struct Experiment {
  std::string environment;
  SweepMethod method;
  RunOptions options;
  const ProblemFactory* factory = nullptr;  ///< null when the environment cannot be had
  std::string failure;                      ///< why
  ProblemShape shape;                       ///< of its problems under these options
};

struct PlannedRun {
  std::size_t experiment = 0;
  HyperParameters parameters;
  RunRecord record;  ///< environment, method, hyper-parameter, seed and identity are filled in
};

class SweepPlan {
 public:
  /// Opens every environment once. One that cannot be opened makes its runs fail, not the sweep; a name that does not
  /// exist is a usage Error all the same, and data that does not fit the memory (0: no limit) one of kind memory.
  explicit SweepPlan(const SweepFile& file, std::size_t memory = 0);

  const std::vector<Experiment>& experiments() const noexcept { return experiments_; }
  /// In the archive's order: environment, method, hyper-parameter, seed.
  const std::vector<PlannedRun>& runs() const noexcept { return runs_; }
  /// Methods left out where they make no sense.
  const std::vector<InapplicableMethod>& inapplicable() const noexcept { return inapplicable_; }

  /// What fixes the numbers of each experiment, as text: a line "[environment / method]" and lines `name = value`.
  const std::string& options_text() const noexcept { return options_text_; }
  /// A hash of what all runs are, in their order: equal for two processes that plan the same sweep on the same data.
  std::string fingerprint() const;

 private:
  void add_experiment(const SweepFile& file, const std::string& environment, const SweepMethod& method,
                      const std::string& failure);
  void add_runs(const SweepFile& file, std::size_t experiment);

  std::map<std::string, ProblemFactory> factories_;
  std::vector<Experiment> experiments_;
  std::vector<PlannedRun> runs_;
  std::vector<InapplicableMethod> inapplicable_;
  std::string options_text_;
};

/// The ridge as archives have it: NaN where a run chooses its own.
double ridge_number(const HyperParameters& parameters);

/// What tells runs of one sweep apart: environment, method, hyper-parameters and seed.
std::string run_key(const RunRecord& run);

/// Puts the runs of one environment side by side, and those of one method in it, in the order in which each first
/// appears. Runs from position `ordered` on, which have no order yet, come by hyper-parameter and seed among
/// themselves.
void group_by_experiment(std::vector<RunRecord>& runs, std::size_t ordered);

/// Where two texts of options disagree about one experiment, such as "pricing / scrm: rollouts was 10 and is 12"; empty
/// when they agree on all experiments that both have.
std::vector<std::string> option_conflicts(const std::string& before, const std::string& now);

}  // namespace scrm
