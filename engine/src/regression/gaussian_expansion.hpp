/// GaussianExpansion: Σ_i c_i k(z_i, (x, a)) for one context and many actions at little more than the price of one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scrm/engine/kernel_state.hpp"

namespace scrm {

/// The gaussian kernel is a product of one of contexts and one of actions, so that a context meets the states z once
/// and the actions of a grid follow by a matrix product.
class GaussianExpansion {
 public:
  GaussianExpansion() = default;
  /// States z of one action each, and their coefficients c.
  GaussianExpansion(const StateKernel& kernel, std::span<const double> states, std::vector<double> coefficients);

  /// out[i actions.size() + g] for context i and action g.
  void sums(std::span<const double> contexts, std::int64_t count, std::span<const double> actions,
            std::span<double> out) const;

 private:
  StateKernel of_contexts_;
  double length_ = 1;
  std::vector<double> contexts_, actions_, coefficients_;
};

}  // namespace scrm
