#include "methods/kernel_bandit.hpp"

namespace scrm {
namespace {

/// Sequential batch pure exploitation: least squares, and the action of the largest mean.
constexpr BanditTraits kSbpe{KernelKind::linear, false};

}  // namespace

std::unique_ptr<Learner> make_sbpe(const LearnerSetup& setup) {
  return std::make_unique<KernelBandit>(setup, kSbpe);
}

MethodNeeds sbpe_needs(const Setting& setting, const RunOptions& options, const HyperParameters& parameters,
                       int threads) {
  return bandit_needs(kSbpe, setting, options, parameters, threads);
}

}  // namespace scrm
