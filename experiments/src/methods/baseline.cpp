#include "methods/fixed_policy.hpp"

namespace scrm {

/// The policy that everybody starts from.
std::unique_ptr<Learner> make_baseline(const LearnerSetup& setup) {
  return std::make_unique<FixedPolicy>(setup.world.standing_policy());
}

}  // namespace scrm
