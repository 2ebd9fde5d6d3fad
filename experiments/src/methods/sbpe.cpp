#include "methods/kernel_bandit.hpp"

namespace scrm {
namespace {

/// Sequential batch pure exploitation: least squares, and the action of the largest mean.
constexpr BanditTraits kSbpe{.kernel = KernelKind::linear, .optimistic = false};

}  // namespace

std::unique_ptr<Learner> make_sbpe(const LearnerSetup& setup) {
  return std::make_unique<KernelBandit>(setup, kSbpe);
}

MethodResources sbpe_resources(const ProblemShape& shape, const RunOptions& options, const HyperParameters& parameters,
                               int threads) {
  return bandit_resources(kSbpe, shape, options, parameters, threads);
}

}  // namespace scrm
