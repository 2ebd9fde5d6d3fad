#include "methods/kernel_bandit.hpp"

namespace scrm {
namespace {

/// Batch kernel UCB: kernel ridge, and the action of the largest upper confidence bound.
constexpr BanditTraits kBkucb{.kernel = KernelKind::polynomial, .optimistic = true};

}  // namespace

std::unique_ptr<Learner> make_bkucb(const LearnerSetup& setup) {
  return std::make_unique<KernelBandit>(setup, kBkucb);
}

MethodResources bkucb_resources(const ProblemShape& shape, const RunOptions& options, const HyperParameters& parameters,
                                int threads) {
  return bandit_resources(kBkucb, shape, options, parameters, threads);
}

}  // namespace scrm
