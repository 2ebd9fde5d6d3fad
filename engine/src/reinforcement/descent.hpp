/// Descent: Adam's steps over the minibatches of a batch, epoch after epoch.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "reinforcement/adam.hpp"
#include "reinforcement/minibatches.hpp"

namespace scrm {

/// How long to go on: to the end of the epochs, or of the steps.
struct DescentLength {
  int epochs = std::numeric_limits<int>::max();
  int steps = std::numeric_limits<int>::max();
};

/// Takes a step for each minibatch that next(rows) gives, along what gradient_of(rows, gradient) writes. How many steps
/// were taken.
template <class Next, class GradientOf>
int descend(Minibatches& minibatches, const UpdateKey& key, const DescentLength& length, Adam& adam,
            std::span<double> parameters, const Next& next, const GradientOf& gradient_of) {
  std::vector<double> gradient(parameters.size());
  int steps = 0;
  for (int epoch = 0; epoch < length.epochs && steps < length.steps; ++epoch) {
    key.stop.check();
    minibatches.shuffle(key, epoch);
    for (Minibatch rows; steps < length.steps && next(rows); ++steps) {
      gradient_of(rows, std::span(gradient));
      adam.step(gradient, parameters);
    }
  }
  return steps;
}

/// The same over minibatches of rows alone.
template <class GradientOf>
int descend(Minibatches& minibatches, const UpdateKey& key, const DescentLength& length, Adam& adam,
            std::span<double> parameters, const GradientOf& gradient_of) {
  const auto next = [&minibatches](Minibatch& rows) { return minibatches.next(rows); };
  return descend(minibatches, key, length, adam, parameters, next, gradient_of);
}

}  // namespace scrm
