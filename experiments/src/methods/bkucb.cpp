#include "methods/kernel_bandit.hpp"

namespace scrm {
namespace {

constexpr BanditTraits kBkucb{.kernel = KernelKind::polynomial, .optimistic = true};

}  // namespace

/// Batch kernel UCB: kernel ridge, and the action of the largest upper confidence bound.
MethodEntry bkucb_method() {
  return {
      .name = "bkucb",
      .description = "plays what a kernel fit to all logs may find best",
      .make = make_bandit<kBkucb>,
      .has_lambda = true,
      .learns = true,
      .deploys = true,
      .incremental = true,
      .inapplicable_reason = without_numbers_or_bits,
      .lambdas = {1.0, 10.0, 100.0},
      .resources = bandit_resources<kBkucb>,
  };
}

}  // namespace scrm
