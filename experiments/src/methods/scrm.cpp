#include <optional>

#include "methods/fitted_policies.hpp"
#include "scrm/engine/policy/policy_kind.hpp"

namespace scrm {
namespace {

/// Sequential counterfactual risk minimization: what was learned last logs the next batch.
class Scrm final : public Learner {
 public:
  explicit Scrm(const LearnerSetup& setup)
      : warm_(setup.options.warm_start), logging_epsilon_(setup.options.logging_epsilon), fitted_(setup) {}

  void learn(Source& rows, int batch) override { fitted_.fit(rows, batch, warm_); }
  const Policy& policy(std::size_t run) const override { return fitted_.policy(run); }
  LoggingPolicy next_logging_policy() const override {
    LoggingPolicy next{fitted_.policy(0), true};
    if (logging_epsilon_ && policy_kind(next.policy.kind).format.epsilon) next.policy.epsilon = *logging_epsilon_;
    return next;
  }
  std::map<std::string, double> metrics(std::size_t run) const override { return fitted_.metrics(run); }
  double rows_read() const override { return fitted_.rows_read(); }

 private:
  bool warm_;
  std::optional<double> logging_epsilon_;
  FittedPolicies fitted_;
};

}  // namespace

MethodEntry scrm_method() {
  return {
      .name = "scrm",
      .description = "deploys what it learned and learns again",
      .make = make_learner<Scrm>,
      .has_lambda = true,
      .learns = true,
      .deploys = true,
      .inapplicable_reason = without_estimator,
      .resources =
          [](const ProblemShape& shape, const RunOptions& options, const HyperParameters& parameters, int threads) {
            return fitted_resources(shape, options, parameters, threads, options.past != PastRollouts::last);
          },
  };
}

}  // namespace scrm
