/// Multinomial logistic regression, for first policies and skylines over classes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

struct SoftmaxRegressionOptions {
  double c = 1.0;  ///< inverse of the ridge's strength: minimises c Σ log-loss + |θ|²/2, intercepts left out
  int max_iterations = 200;
  double tolerance = 1e-5;  ///< on the gradient's norm of the objective divided by c · rows
};

struct SoftmaxModel {
  std::vector<double> theta;  ///< a row for each class: intercept first, then a coefficient a feature
  double c = 1.0;             ///< the inverse ridge that was used
};

/// Fits the classes of the given rows, of multiclass data. Classes that do not occur among them are not fitted: they
/// share 5 % where all others are equally likely, whatever the context.
SoftmaxModel fit_softmax(const LabelledData& data, std::span<const std::int64_t> rows,
                         const SoftmaxRegressionOptions& options);

/// As above, with c the candidate whose likeliest classes are right most often on the last quarter of the rows, fitted
/// without it; then fitted on all rows.
SoftmaxModel fit_softmax_held_out(const LabelledData& data, std::span<const std::int64_t> rows,
                                  std::span<const double> candidates, const SoftmaxRegressionOptions& options);

}  // namespace scrm
