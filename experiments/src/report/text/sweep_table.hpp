/// The end of a sweep in numbers: mean ± sd of the final loss over seeds, per environment and method.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scrm/experiments/sweep.hpp"
#include "scrm/io/archive/run_record.hpp"

namespace scrm {

/// All seeds of one environment, method and hyper-parameter.
struct SweepCell {
  std::string environment;
  std::string method;
  std::string lambda_rule;
  double hyperparameter = 0;
  std::string hyperparameter_name = "lambda";  ///< or "entropy weight", of ppo and trpo
  std::optional<double> l2;                    ///< NaN: chosen by the run itself
  int runs = 0;
  int failed = 0;
  double mean = 0;            ///< of the final losses of runs that succeeded
  double sd = 0;              ///< over those runs, n − 1; NaN for fewer than two
  bool inapplicable = false;  ///< the method cannot play there: it has no runs
  bool best = false;  ///< lowest mean among the λ given for this environment and method: the choice a posteriori
};

/// One for each hyper-parameter, in the order of the runs.
std::vector<SweepCell> sweep_cells(const std::vector<RunRecord>& runs);

/// Whether the cell's runs chose their ridge themselves.
bool has_automatic_l2(const SweepCell& cell);
/// Whether its hyper-parameter is the weight of a penalty, or something else that has a name of its own.
bool has_lambda(const SweepCell& cell);
/// The ridge as tables have it: a number, "auto", or nothing where there is none.
std::string l2_text(const SweepCell& cell);

/// Whether the run is one of the cell's seeds.
bool belongs(const RunRecord& run, const SweepCell& cell);

/// A cell for each method that was left out of an environment, behind the cells of that environment.
void add_inapplicable(const std::vector<InapplicableMethod>& left_out, std::vector<SweepCell>& cells);

/// The cells that matter: for each environment and method the best λ a posteriori, and every rule that found its own.
std::string sweep_table(const std::vector<SweepCell>& cells);

nlohmann::json to_json(const SweepCell& cell);

}  // namespace scrm
