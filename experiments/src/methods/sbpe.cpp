#include "methods/kernel_bandit.hpp"

namespace scrm {
namespace {

/// Sequential batch pure exploitation: least squares, and the action of the largest mean.
constexpr BanditTraits kSbpe{KernelKind::linear, false};

}  // namespace

std::unique_ptr<Learner> make_sbpe(const LearnerSetup& setup) {
  return std::make_unique<KernelBandit>(setup, kSbpe);
}

MethodResources sbpe_resources(const ProblemFactory& factory, const RunOptions& options,
                               const HyperParameters& parameters, int threads) {
  return bandit_resources(kSbpe, factory, options, parameters, threads);
}

}  // namespace scrm
