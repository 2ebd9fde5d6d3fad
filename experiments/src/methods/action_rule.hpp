/// States (context, action) as kernel bandits see them, and the action that a kernel ridge thinks best.
#pragma once

#include <memory>
#include <vector>

#include "scrm/engine/regression/kernel_ridge.hpp"
#include "scrm/experiments/problem.hpp"

namespace scrm {

/// How rows become states. Continuous actions are the state's last number. Labels are as many numbers under the bits
/// kernel, and one integer, the first label its highest bit, under all others.
struct StateSpace {
  StateKernel kernel;
  int labels = 0;  ///< 0: actions are continuous

  bool scalar_action() const noexcept { return kernel.kind != KernelKind::bits; }
  /// Of spaces whose action is one number: all integers of that many bits, or −5, −4.5, …, 4.5.
  ActionGrid grid() const noexcept;
};

/// Appends the state of every row, and the reward −loss.
void append_states(const StateSpace& space, const Block& rows, std::vector<double>& states,
                   std::vector<double>& rewards);

/// The action of the largest mean + β width, the first of equals. Exact over the grid. The bits kernel's mean splits by
/// label, its width does not: with β > 0 the choice is exact among the mean's best bits and their neighbours by one
/// label up to kMaxWidthDimension, and the mean's alone beyond it or where the ridge has no widths. The rule goes by
/// what the ridge knows when it is called.
ActionRule best_action_rule(std::shared_ptr<const KernelRidge> ridge, const StateSpace& space, double beta);

/// Bytes that a rule takes while it works on a block, of a ridge of this dimension.
std::size_t rule_bytes(const StateSpace& space, std::int64_t dimension, int threads);

}  // namespace scrm
