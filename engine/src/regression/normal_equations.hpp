/// NormalEquations: ΦᵀΦ and Φᵀy of features that come in blocks, and the ridge solution they give.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace scrm {

class NormalEquations {
 public:
  /// Writes the features of rows [first, first + count), one column of `dimension` numbers a row. Called concurrently.
  using Fill = std::function<void(std::int64_t first, int count, double* out)>;

  explicit NormalEquations(std::int64_t dimension);

  /// Adds rows. The bits of the sums depend on the rows and how calls split them, never on threads: rows go
  /// in fixed groups, and groups add up in order.
  void add(std::span<const double> y, const Fill& fill);

  /// Adds rows whose features are (1, a) ⊗ (1, x), x the first `features` numbers of a state and a the bits that
  /// follow, all of them 0 or 1: (1, x)(1, x)ᵀ is summed up once for each pair of bits, over the rows that have both,
  /// rows that repeat the one before them as one.
  void add_bits(std::span<const double> y, const double* states, std::int64_t features, std::int64_t bits);

  /// Weights (ΦᵀΦ + λI)⁻¹Φᵀy. Of a feature so long that λ is lost in the rounding of its sum of squares (an action that
  /// counts to millions), that rounding, a share 2e-16 · dimension, stands for λ. For λ = 0, the shortest of the
  /// least-squares solutions: in the Gram matrix of features scaled to unit length, eigenvalues (above dimension 256:
  /// pivots of the Cholesky factor, for a thirtieth of the time) up to min(1e-13 · dimension, 1e-10) count as empty
  /// directions.
  void solve(double lambda);

  const std::vector<double>& weights() const noexcept { return weights_; }
  /// Columns v become L⁻¹v, ΦᵀΦ + λI = LLᵀ. Not after solve(0).
  void whiten(double* block, int columns) const { whiten_from(0, block, columns, dimension_); }
  /// The same for columns that are zero before number `from`, where they are given from, `leading` apart.
  void whiten_from(std::int64_t from, double* block, int columns, std::int64_t leading) const;

  std::size_t bytes() const noexcept;
  static std::size_t bytes_needed(std::int64_t dimension, double lambda) noexcept;

 private:
  void add_by_groups(std::span<const double> y, const Fill& fill);
  void add_by_tiles(std::span<const double> y, const Fill& fill);
  void solve_minimum_norm();
  std::int64_t empty_by_eigenvalues(const std::vector<double>& scale, std::vector<double>& matrix);
  std::int64_t empty_by_pivots(const std::vector<double>& scale, std::vector<double>& matrix);

  std::int64_t dimension_;
  std::vector<double> gram_;  // lower triangle, column-major
  std::vector<double> moment_, weights_, factor_;
};

}  // namespace scrm
