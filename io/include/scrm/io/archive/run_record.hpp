/// RunRecord: one run of a sweep, what it was and what came of it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace scrm {

struct RunRecord {
  std::string environment;
  std::string method;
  double hyperparameter = std::numeric_limits<double>::quiet_NaN();  ///< λ; NaN where there is none, or auto
  std::string lambda_rule;  ///< "given", "auto", "theory", or empty where there is no λ
  std::int64_t seed = 0;
  std::string identity;  ///< hexadecimal hash of everything that fixes the run's numbers

  bool ok = true;
  std::string message;  ///< why it failed

  double final_loss = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;

  // One entry for each rollout.
  std::vector<double> loss;
  std::vector<std::int64_t> rows;  ///< logged so far, the first batch included
  std::vector<double> regret;      ///< NaN where the optimum is not known

  std::vector<double> theta;  ///< of the last learned policy

  std::map<std::string, double> numbers;              ///< more columns: one number a run, such as "l2"
  std::map<std::string, std::vector<double>> curves;  ///< more columns: one number a rollout
};

}  // namespace scrm
