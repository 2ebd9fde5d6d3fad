/// Linear models over rows of contexts: their scores, and what gradients by scores are by weights.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

namespace scrm {

/// Contexts, row after row, `width` numbers each.
struct ContextRows {
  const double* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

/// out = the scores of all rows, a column for each `width` weights.
void linear_scores(const ContextRows& contexts, std::span<const double> weights, Eigen::MatrixXd& out);

/// out += Σ_i context_i ⊗ gradient_i: a gradient by scores as one by weights.
void add_weight_gradient(const ContextRows& contexts, const Eigen::MatrixXd& by_scores, std::span<double> out);

/// Each row so many times, one after the other.
Eigen::MatrixXd repeat_rows(const Eigen::MatrixXd& rows, int times);
/// Sums of so many rows at a time.
Eigen::MatrixXd sum_rows(const Eigen::MatrixXd& rows, int times);

}  // namespace scrm
