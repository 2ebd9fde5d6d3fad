#include "methods/fitted_policies.hpp"

namespace scrm {
namespace {

/// Counterfactual risk minimization: the baseline policy logs every batch, and all rows are learned from.
class Crm final : public Learner {
 public:
  explicit Crm(const LearnerSetup& setup) : baseline_{setup.problem.baseline_policy(), false}, fitted_(setup) {}

  void learn(Source& rows, int batch) override { fitted_.fit(rows, batch, false); }
  const Policy& policy(std::size_t run) const override { return fitted_.policy(run); }
  LoggingPolicy next_logging_policy() const override { return baseline_; }
  std::map<std::string, double> metrics(std::size_t run) const override { return fitted_.metrics(run); }
  double rows_read() const override { return fitted_.rows_read(); }

 private:
  LoggingPolicy baseline_;
  FittedPolicies fitted_;
};

}  // namespace

MethodEntry crm_method() {
  return {
      .name = "crm",
      .description = "learns from all logs of the standing policy",
      .make = make_learner<Crm>,
      .has_lambda = true,
      .learns = true,
      .inapplicable_reason = without_estimator,
      .resources = [](const ProblemShape& shape, const RunOptions& options, const HyperParameters& parameters,
                      int threads) { return fitted_resources(shape, options, parameters, threads, true); },
  };
}

}  // namespace scrm
