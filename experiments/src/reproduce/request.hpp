/// Requests: the sweeps behind the paper's tables and figures, as texts of sweep files.
#pragma once

#include <string>
#include <vector>

namespace scrm {

struct ReproduceOptions {
  bool quick = false;
  std::vector<std::string> protocols = {"published", "paper"};
  std::vector<std::string> data_sets;  ///< of scene, yeast and tmc2007, those whose files are there
  std::string data_dir;
};

/// One sweep. Its text fixes its numbers, so that one which was run before need not be run again.
struct SweepRequest {
  std::string name;  ///< such as "scene-paper"
  std::string text;  ///< of the sweep file
  double cost = 1;   ///< about how long it takes, in seconds on two cores; for the time left
};

/// Seeds and the like, for the page to state.
struct ReproduceScale {
  int seeds = 10;            ///< of the continuous environments, scene and yeast
  int long_seeds = 3;        ///< of tmc2007
  int rollouts = 15;         ///< of gaussian
  int crm_rollouts = 20;     ///< of CRM on gaussian, with one seed
  int study_logs = 200;      ///< of the study of estimators
  int study_rows = 100'000;  ///< in each
};
ReproduceScale scale_of(const ReproduceOptions& options);

/// Example 3.1 under a protocol: tables 1 and figures 1 and 2. `long_crm`: CRM alone, for as many rollouts as time
/// allows.
SweepRequest gaussian_request(const ReproduceOptions& options, const std::string& protocol, bool long_crm);

/// Pricing and advertising, on which the protocols agree.
SweepRequest continuous_request(const ReproduceOptions& options);

/// A multilabel data set under a protocol: what learns from logs, and trivial policies.
SweepRequest labelled_request(const ReproduceOptions& options, const std::string& data_set,
                              const std::string& protocol);
/// Its bandits and reinforcement learning, which take longer.
SweepRequest bandit_request(const ReproduceOptions& options, const std::string& data_set, const std::string& protocol);

/// Example 3.1 from starts at several distances, with several spreads: figure 4.
SweepRequest distance_request(const ReproduceOptions& options);
/// The name of a method in it.
std::string distance_method(const std::string& method, double distance, double spread);
std::vector<double> distances(const ReproduceOptions& options);
std::vector<double> spreads(const ReproduceOptions& options);

}  // namespace scrm
