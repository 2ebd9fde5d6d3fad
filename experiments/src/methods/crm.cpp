#include "methods/fitted_policies.hpp"

namespace scrm {
namespace {

/// Counterfactual risk minimization: the standing policy logs every batch, and all rows are learned from.
class Crm final : public Learner {
 public:
  explicit Crm(const LearnerSetup& setup) : standing_{setup.world.standing_policy(), false}, fitted_(setup) {}

  void learn(Source& rows, int batch) override { fitted_.fit(rows, batch, false); }
  const Policy& policy(std::size_t run) const override { return fitted_.policy(run); }
  Deployed next_actor() const override { return standing_; }
  std::map<std::string, double> notes(std::size_t run) const override { return fitted_.notes(run); }
  double rows_read() const override { return fitted_.rows_read(); }

 private:
  Deployed standing_;
  FittedPolicies fitted_;
};

}  // namespace

std::unique_ptr<Learner> make_crm(const LearnerSetup& setup) {
  return std::make_unique<Crm>(setup);
}

}  // namespace scrm
