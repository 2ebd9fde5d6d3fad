#include "reinforcement/adam.hpp"

#include <cassert>
#include <cmath>

namespace scrm {
namespace {

constexpr double kMeanDecay = 0.9, kSquareDecay = 0.999;
// What libraries of reinforcement learning use; the article's 1e-8 lets vanishing gradients take whole steps.
constexpr double kEpsilon = 1e-5;

}  // namespace

void Adam::step(std::span<const double> gradient, std::span<double> parameters) {
  assert(gradient.size() == mean_.size() && parameters.size() == mean_.size());
  mean_decay_ *= kMeanDecay;
  square_decay_ *= kSquareDecay;
  const double rate = rate_ / (1 - mean_decay_), inverse = 1 / (1 - square_decay_);
  for (std::size_t j = 0; j < mean_.size(); ++j) {
    mean_[j] = kMeanDecay * mean_[j] + (1 - kMeanDecay) * gradient[j];
    square_[j] = kSquareDecay * square_[j] + (1 - kSquareDecay) * gradient[j] * gradient[j];
    parameters[j] -= rate * mean_[j] / (std::sqrt(square_[j] * inverse) + kEpsilon);
  }
}

void cut_norm(double most, std::span<double> gradient) {
  double square = 0;
  for (const double g : gradient) square += g * g;
  const double norm = std::sqrt(square);
  if (!(norm > most)) return;
  for (double& g : gradient) g *= most / norm;
}

}  // namespace scrm
