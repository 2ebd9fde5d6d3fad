/// Exploration: how much a policy over finitely many actions will still try, and so what its own logs will be worth.
#pragma once

#include <optional>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// Over the contexts of a log. For multilabel policies an action is a value of one bit, and everything is averaged over
/// labels.
struct Exploration {
  double rows = 0;                  ///< contexts looked at
  double smallest_probability = 1;  ///< of any action in any of them
  double decided = 0;               ///< share of contexts in which one action has more than 0.99
  /// Effective sample size, as a share of the rows, of the policy's next logs for judging one that chooses uniformly:
  /// 1 / E[Σ_a 1 / (K² π(a|x))].
  double ess_share = 0;
  std::vector<double> mean_probability;  ///< of each action; of the bit 1 of each label
};

/// From some tens of thousands of contexts (fewer where actions are many), the same ones at any thread count. Empty for
/// policies of continuous actions, and where there are no rows.
std::optional<Exploration> measure_exploration(Source& source, const Policy& policy, const PassOptions& pass);

}  // namespace scrm
