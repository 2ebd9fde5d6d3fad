/// Adam: gradient steps whose length is the rate in every parameter, whatever the gradient's unit.
#pragma once

#include <span>
#include <vector>

namespace scrm {

class Adam {
 public:
  Adam(std::size_t parameters, double rate) : rate_(rate), mean_(parameters), square_(parameters) {}

  /// Takes a step against the gradient (Kingma and Ba, Algorithm 1, with β₁ = 0.9, β₂ = 0.999 and ε = 1e-5).
  void step(std::span<const double> gradient, std::span<double> parameters);

 private:
  double rate_;
  double mean_decay_ = 1, square_decay_ = 1;  // β₁ᵗ and β₂ᵗ
  std::vector<double> mean_, square_;
};

/// Scales the gradient down to that norm where it is longer.
void cut_norm(double most, std::span<double> gradient);

}  // namespace scrm
