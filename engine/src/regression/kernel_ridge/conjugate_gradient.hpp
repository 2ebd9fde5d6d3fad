/// ConjugateGradient: ridge under the bits kernel, λ > 0, that never forms the Gram matrix of its features.
#pragma once

#include <Eigen/SparseCore>
#include <cstdint>
#include <vector>

#include "regression/kernel_ridge/kernel_values.hpp"

namespace scrm {

/// Weights are a matrix V of 1 + bits by 1 + features, and Φ v is (1, a)ᵀ V (1, x) row by row: two products with all
/// contexts apply ΦᵀΦ. Conjugate gradients need few of them, since Σ (1, x)(1, x)ᵀ and Σ (1, a)(1, a)ᵀ, as if contexts
/// and bits had nothing to do with each other, are close to it and quickly inverted.
class ConjugateGradient {
 public:
  explicit ConjugateGradient(const KernelRidgeOptions& options);

  void add(const States& states, const Responses& y);
  /// Of the features (1, a) ⊗ (1, x).
  const Eigen::VectorXd& weights() const noexcept { return weights_; }

  static double bytes_needed(const KernelRidgeOptions& options, std::int64_t rows);

 private:
  /// Contexts of a batch that follow each other, in one of two forms.
  struct Group {
    Eigen::MatrixXd dense;                  // (1, x), one a column
    Eigen::SparseMatrix<double> nonzero;    // the same where most of it is zeros
    Eigen::MatrixXd actions;                // (1, a) of every row, one a column
    std::vector<Eigen::Index> first = {0};  // row of every context, and of the one that would follow

    std::int64_t contexts() const { return std::ssize(first) - 1; }
    auto actions_of(std::int64_t context) const {
      const Eigen::Index* from = first.data() + context;
      return actions.middleCols(from[0], from[1] - from[0]);
    }
    void add_products(const Eigen::MatrixXd& along, Eigen::MatrixXd& sum) const;
  };

  Eigen::Index add_group(const States& states, const Responses& y);
  Eigen::MatrixXd times_gram(const Eigen::MatrixXd& v) const;
  void solve();

  double lambda_;
  std::int64_t side_, bits_, rows_ = 0;
  std::vector<Group> groups_;
  Eigen::MatrixXd context_gram_, bit_gram_, moment_;
  Eigen::VectorXd weights_;
};

}  // namespace scrm
