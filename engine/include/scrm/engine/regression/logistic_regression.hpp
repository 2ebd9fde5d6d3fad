/// Logistic regression, one independent fit per label, for baselines and skylines.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

struct LogisticOptions {
  double c = 1.0;  ///< inverse of the ridge's strength: minimises c Σ log-loss + |β|²/2, the intercept left out
  int max_iterations = 1000;
  double tolerance = 1e-6;  ///< on the largest entry of the gradient of the objective divided by c · rows
};

/// One label's model: intercept first, then a coefficient a feature.
struct LogisticModel {
  std::vector<double> beta;
  bool single_class = false;  ///< the rows had only one class: beta is zero
  bool only_class = false;
  double c = 1.0;  ///< the inverse ridge that was used
};

/// Fits every label on the given rows. Labels with one class only are marked and not fitted.
std::vector<LogisticModel> fit_logistic(const LabelledData& data, std::span<const std::int64_t> rows,
                                        const LogisticOptions& options);

/// As above, with c chosen for each label among `candidates` by `folds`-fold cross-validation on accuracy, then fitted
/// on all the rows. Rows are assigned to folds in the order given, stratified by the label.
std::vector<LogisticModel> fit_logistic_cv(const LabelledData& data, std::span<const std::int64_t> rows,
                                           std::span<const double> candidates, int folds,
                                           const LogisticOptions& options);

}  // namespace scrm
