/// GaussianRows: a block of random rows for the kernels of Gaussian policies.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "support/rows/columns.hpp"

namespace scrm::testing {

struct GaussianRowsOptions {
  int rows = kBlockRows;
  bool float32 = false;    ///< context
  bool logarithm = false;  ///< propensity
  double level = 0;        ///< what the losses lie around
  bool outliers = false;   ///< some actions lie so far out that their densities leave the ordinary doubles
};

struct GaussianRows {
  Columns<double> context, action, loss, propensity;
  Columns<float> narrow;
  Columns<std::uint8_t> keep;
  Block block;

  explicit GaussianRows(std::int64_t features, const GaussianRowsOptions& options = {})
      : context(features), narrow(features) {
    std::mt19937_64 random(5);
    for (std::int64_t i = 0; i < features * kBlockRows; ++i) {
      narrow[i] = static_cast<float>(normal(random));
      context[i] = options.float32 ? narrow[i] : normal(random);
    }
    for (int i = 0; i < kBlockRows; ++i) {
      action[i] = options.outliers && i % 97 == 0 ? 60 * normal(random) : normal(random);
      loss[i] = options.level + normal(random);
      propensity[i] = options.logarithm ? uniform(random, -3, 0) : uniform(random, 0.05, 1);
      keep[i] = uniform(random, 0, 1) < 0.7;
    }
    block.rows = options.rows;
    block.features = features;
    block.context_type = options.float32 ? FloatType::f32 : FloatType::f64;
    block.context = options.float32 ? static_cast<const void*>(narrow.data()) : context.data();
    block.action = action.data();
    block.loss = loss.data();
    (options.logarithm ? block.log_propensity : block.propensity) = propensity.data();
  }
};

/// Coefficients, intercept first, whose products with the rows stay of the order of `size`.
inline std::vector<double> random_theta(std::int64_t features, unsigned seed, double size = 1) {
  std::mt19937_64 random(seed);
  std::vector<double> theta;
  for (std::int64_t j = 0; j <= features; ++j)
    theta.push_back(size * normal(random) / std::sqrt(1.0 + static_cast<double>(j)));
  return theta;
}

}  // namespace scrm::testing
