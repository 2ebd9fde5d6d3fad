#include <cmath>

#include "policy/kinds/policy_kinds.hpp"

namespace scrm {
namespace {

void log_density(const Policy&, const Block& block, const double*, double* out) {
  const bool labels = block.action_kind == ActionKind::multilabel;
  std::fill_n(out, kBlockRows, labels ? -block.num_actions * std::log(2.0) : -std::log(block.num_actions));
}

// exp(-log K) may differ from 1/K in the last bit; logs that state the propensity as 1/K get weights of exactly one.
void density(const Policy&, const Block& block, const double*, double* out) {
  const bool labels = block.action_kind == ActionKind::multilabel;
  std::fill_n(out, kBlockRows, labels ? std::exp2(-block.num_actions) : 1.0 / block.num_actions);
}

void label_probability(const Policy&, const Block& block, const double*, double* out) {
  std::fill_n(out, static_cast<std::int64_t>(block.num_actions) * kBlockRows, 0.5);
}

void sample(const Policy&, const Block& block, const double*, int row, RandomStream& random, BlockBuffer& actions) {
  if (block.action_kind == ActionKind::categorical) {
    actions.category()[row] = uniform_index(block.num_actions, random);
    return;
  }
  for (int k = 0; k < block.num_actions; ++k) actions.bits()[cell(k, row)] = random.uniform() < 0.5 ? 1 : 0;
}

}  // namespace

/// Every action, or every set of labels, equally often. Mixed with uniform it stays what it is.
PolicyKindDefinition uniform_kind() {
  return {
      .format = {.kind = PolicyKind::uniform, .theta = ThetaRows::none, .epsilon = true},
      .actions = {ActionKind::categorical, ActionKind::multilabel},
      .log_density = log_density,
      .density = density,
      .label_probability = label_probability,
      .action_probabilities =
          [](const Policy&, int actions, int rows, std::int64_t stride, double* out) {
            for (int k = 0; k < actions; ++k) std::fill_n(out + k * stride, rows, 1.0 / actions);
          },
      .sample = sample,
  };
}

}  // namespace scrm
