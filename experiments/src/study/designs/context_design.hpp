/// Designs whose policies act by the context of a row.
#pragma once

#include <functional>
#include <vector>

#include "study/designs/designs.hpp"

namespace scrm {

/// Draws a loss from the mean of its row.
using Noise = std::function<double(double mean, RandomStream&)>;

/// 1 with chance `mean`, else 0.
double zero_one_noise(double mean, RandomStream& stream);
/// N(mean, 1).
double normal_noise(double mean, RandomStream& stream);

/// Contexts that come with equal chance, and what is done and lost there.
struct Contexts {
  std::vector<ActionChances> chances;
  std::vector<std::vector<double>> means;  ///< [contexts][actions]
};

StudyDesign context_design(Contexts all, Noise noise);

}  // namespace scrm
