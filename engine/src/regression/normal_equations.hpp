/// NormalEquations: ΦᵀΦ and Φᵀy of features that come in blocks, and the ridge solution they give.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>

namespace scrm {

class NormalEquations {
 public:
  /// Writes the features of rows [first, first + columns), one row a column. Called concurrently.
  using Fill = std::function<void(std::int64_t first, Eigen::Ref<Eigen::MatrixXd> columns)>;

  explicit NormalEquations(std::int64_t dimension);

  /// Adds rows. The bits of the sums depend on the rows and how calls split them, never on threads. From
  /// `first_feature` on alone where the features before it know the rows.
  void add(const Eigen::Ref<const Eigen::VectorXd>& y, const Fill& fill, std::int64_t first_feature = 0);
  /// New features after those there are, which no row has until it is added for them.
  void grow(std::int64_t dimension);

  /// Adds rows whose features are (1, a) ⊗ (1, x), x the first `features` numbers of a state and a the bits that
  /// follow, all of them 0 or 1, times the row's factor: (1, x)(1, x)ᵀ is summed up once for each pair of bits, over
  /// the rows that have both.
  void add_bits(const Eigen::Ref<const Eigen::MatrixXd>& states, const Eigen::Ref<const Eigen::VectorXd>& factors,
                const Eigen::Ref<const Eigen::VectorXd>& y, std::int64_t features);

  /// Weights (ΦᵀΦ + λI)⁻¹Φᵀy. Of a feature so long that λ is lost in the rounding of its sum of squares (an action that
  /// counts to millions), that rounding, a share 2e-16 · dimension, stands for λ. For λ = 0, the shortest of the
  /// least-squares solutions: in the Gram matrix of features scaled to unit length, pivots of the Cholesky factor up to
  /// min(1e-13 · dimension, 1e-10) count as empty directions.
  void solve(double lambda);

  std::int64_t dimension() const noexcept { return moment_.size(); }
  const Eigen::VectorXd& weights() const noexcept { return weights_; }
  /// Columns v become L⁻¹v, ΦᵀΦ + λI = LLᵀ. Columns of fewer numbers than the dimension are the ends of such as are
  /// zero before. Not after solve(0).
  void whiten(Eigen::Ref<Eigen::MatrixXd> columns) const;
  /// (ΦᵀΦ + λI)⁻¹, as exact as its condition. Not after solve(0).
  Eigen::MatrixXd inverse() const;

  static double bytes_needed(std::int64_t dimension, double lambda) noexcept;

 private:
  void solve_minimum_norm();
  bool solve_full_rank(const Eigen::VectorXd& scale, Eigen::MatrixXd matrix);
  Eigen::MatrixXd solve_by_pivots(const Eigen::VectorXd& scale, Eigen::MatrixXd matrix);

  Eigen::MatrixXd gram_, factor_;  // lower triangles
  Eigen::VectorXd moment_, weights_;
};

}  // namespace scrm
