#include "methods/kernel_bandit.hpp"

namespace scrm {
namespace {

constexpr BanditTraits kSbpe{.kernel = KernelKind::linear, .optimistic = false};

}  // namespace

/// Sequential batch pure exploitation: least squares, and the action of the largest mean.
MethodEntry sbpe_method() {
  return {
      .name = "sbpe",
      .description = "plays what a linear fit to all logs thinks best",
      .make = make_bandit<kSbpe>,
      .has_lambda = true,
      .learns = true,
      .deploys = true,
      .incremental = true,
      .inapplicable_reason = without_numbers_or_bits,
      .lambdas = {0.0},
      .resources = bandit_resources<kSbpe>,
  };
}

}  // namespace scrm
