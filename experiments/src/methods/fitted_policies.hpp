/// FittedPolicies: the policies that CRM and SCRM learn, one for each run, and how they are fitted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scrm/experiments/method.hpp"

namespace scrm {

/// Fits by counterfactual risk minimization under the options of the setup; runs that share rows share passes.
class FittedPolicies {
 public:
  explicit FittedPolicies(const LearnerSetup& setup);

  /// Every run's policy anew from these rows: from where it stands (`warm`), or from the start policy.
  void fit(Source& rows, int batch, bool warm);

  const Policy& policy(std::size_t run) const { return policies_[run]; }
  const std::map<std::string, double>& metrics(std::size_t run) const { return metrics_[run]; }
  double rows_read() const { return rows_read_; }

 private:
  LearnOptions learn_options(const HyperParameters& run, double rows, int batch) const;
  void store(std::size_t run, const LearnedPolicy& learned);

  LearnerSetup setup_;
  std::vector<Policy> policies_;
  std::vector<std::map<std::string, double>> metrics_;
  double rows_read_ = 0;
};

/// Why policies cannot be fitted to the environment by the options' estimator; empty where they can.
std::string without_estimator(const ProblemFactory& environment, const RunOptions& options);

/// What a run needs for its model, where its estimator or its judge has one, and what its searches cost, from all
/// batches so far or from the last alone.
MethodResources fitted_resources(const ProblemShape& shape, const RunOptions& options,
                                 const HyperParameters& parameters, int threads, bool all_batches);

}  // namespace scrm
