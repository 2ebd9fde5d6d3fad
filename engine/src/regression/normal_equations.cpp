#include "regression/normal_equations.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

// Up to this width every group of rows sums up a matrix of its own; wider ones share one, tile by tile.
constexpr std::int64_t kGroupWidth = 384;
constexpr std::int64_t kGroupRows = 8192;
constexpr std::int64_t kGroupsAtOnce = 32;
constexpr std::int64_t kBlockRows = 256;
constexpr std::int64_t kTile = 256;
constexpr std::int64_t kChunkDoubles = std::int64_t{1} << 22;
// Below this an eigen decomposition is quick; beyond, only pivots are.
constexpr std::int64_t kEigenWidth = 256;

double empty_direction(std::int64_t dimension) {
  return std::min(1e-13 * static_cast<double>(dimension), 1e-10);
}

std::int64_t chunk_rows(std::int64_t dimension) {
  return std::clamp<std::int64_t>(kChunkDoubles / std::max<std::int64_t>(dimension, 1), 64, kGroupRows);
}

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

struct GroupSums {
  std::vector<double> gram, moment;
};

}  // namespace

NormalEquations::NormalEquations(std::int64_t dimension)
    : dimension_(dimension), gram_(at(dimension * dimension)), moment_(at(dimension)), weights_(at(dimension)) {}

void NormalEquations::add(std::span<const double> y, const Fill& fill) {
  if (dimension_ <= kGroupWidth) {
    add_by_groups(y, fill);
  } else {
    add_by_tiles(y, fill);
  }
}

void NormalEquations::add_by_groups(std::span<const double> y, const Fill& fill) {
  const auto rows = static_cast<std::int64_t>(y.size());
  const std::int64_t groups = (rows + kGroupRows - 1) / kGroupRows;
  const int d = static_cast<int>(dimension_);
  std::vector<GroupSums> sums(at(std::min(groups, kGroupsAtOnce)));
  for (std::int64_t wave = 0; wave < groups; wave += kGroupsAtOnce) {
    const std::int64_t count = std::min(kGroupsAtOnce, groups - wave);
    parallel_indices(count, [&](std::int64_t g) {
      GroupSums& sum = sums[at(g)];
      sum.gram.assign(gram_.size(), 0.0);
      sum.moment.assign(moment_.size(), 0.0);
      std::vector<double> block(at(dimension_ * kBlockRows));
      const std::int64_t begin = (wave + g) * kGroupRows, end = std::min(rows, begin + kGroupRows);
      for (std::int64_t first = begin; first < end; first += kBlockRows) {
        const int n = static_cast<int>(std::min(kBlockRows, end - first));
        fill(first, n, block.data());
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, d, n, 1.0, block.data(), d, 1.0, sum.gram.data(), d);
        cblas_dgemv(CblasColMajor, CblasNoTrans, d, n, 1.0, block.data(), d, y.data() + first, 1, 1.0,
                    sum.moment.data(), 1);
      }
    });
    for (std::int64_t g = 0; g < count; ++g) {
      const GroupSums& sum = sums[at(g)];
      std::transform(gram_.begin(), gram_.end(), sum.gram.begin(), gram_.begin(), std::plus<>());
      std::transform(moment_.begin(), moment_.end(), sum.moment.begin(), moment_.begin(), std::plus<>());
    }
  }
}

void NormalEquations::add_by_tiles(std::span<const double> y, const Fill& fill) {
  const auto rows = static_cast<std::int64_t>(y.size());
  const std::int64_t chunk = chunk_rows(dimension_), tiles = (dimension_ + kTile - 1) / kTile;
  const int d = static_cast<int>(dimension_);
  std::vector<double> block(at(dimension_ * std::min(chunk, rows)));
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const int n = static_cast<int>(std::min(chunk, rows - first));
    constexpr int kSlice = 64;
    parallel_indices((n + kSlice - 1) / kSlice, [&](std::int64_t slice) {
      const int begin = static_cast<int>(slice) * kSlice;
      fill(first + begin, std::min(kSlice, n - begin), block.data() + begin * dimension_);
    });
    // Task t is tile (i, j), j ≤ i, of the lower triangle.
    parallel_indices(tiles * tiles, [&](std::int64_t t) {
      const std::int64_t i = t / tiles * kTile, j = t % tiles * kTile;
      if (j > i) return;
      const int height = static_cast<int>(std::min(kTile, dimension_ - i));
      const int width = static_cast<int>(std::min(kTile, dimension_ - j));
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, height, width, n, 1.0, block.data() + i, d, block.data() + j,
                  d, 1.0, gram_.data() + i + j * dimension_, d);
      if (j > 0) return;
      cblas_dgemv(CblasColMajor, CblasNoTrans, height, n, 1.0, block.data() + i, d, y.data() + first, 1, 1.0,
                  moment_.data() + i, 1);
    });
  }
}

void NormalEquations::add_bits(std::span<const double> y, const double* states, std::int64_t features,
                               std::int64_t bits) {
  const std::int64_t width = features + bits, side = 1 + features;
  // The first of rows that repeat each other, how often they come, and the sum of their answers.
  struct Repeats {
    const double* state;
    double times, sum;
  };
  std::vector<Repeats> distinct;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double* state = states + static_cast<std::int64_t>(i) * width;
    if (i == 0 || !std::equal(state, state + width, distinct.back().state)) distinct.push_back({state, 0, 0});
    distinct.back().times += 1;
    distinct.back().sum += y[i];
  }
  const auto has = [features](const Repeats& row, std::int64_t bit) {
    return bit == 0 || row.state[features + bit - 1] != 0;
  };
  // Task t is the pair (k, l), l ≤ k, of bits; bit 0 is the one that every row has.
  parallel_indices((1 + bits) * (1 + bits), [&](std::int64_t t) {
    const std::int64_t k = t / (1 + bits), l = t % (1 + bits);
    if (l > k) return;
    const int d = static_cast<int>(side);
    std::vector<double> block(at(side * kBlockRows)), answers(at(kBlockRows)), square(at(side * side), 0.0);
    int filled = 0;
    const auto flush = [&] {
      if (filled == 0) return;
      cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, d, filled, 1.0, block.data(), d, 1.0, square.data(), d);
      if (l == 0) {
        cblas_dgemv(CblasColMajor, CblasNoTrans, d, filled, 1.0, block.data(), d, answers.data(), 1, 1.0,
                    moment_.data() + k * side, 1);
      }
      filled = 0;
    };
    for (const Repeats& row : distinct) {
      if (!has(row, k) || !has(row, l)) continue;
      double* to = block.data() + filled * side;
      const double root = std::sqrt(row.times);
      to[0] = root;
      for (std::int64_t j = 0; j < features; ++j) to[1 + j] = root * row.state[j];
      answers[at(filled)] = row.sum / root;
      if (++filled == kBlockRows) flush();
    }
    flush();
    double* corner = gram_.data() + k * side + l * side * dimension_;
    for (std::int64_t j = 0; j < side; ++j) {
      for (std::int64_t i = j; i < side; ++i) {
        corner[j * dimension_ + i] += square[at(j * side + i)];
        // Off the diagonal of bits the upper half is needed too; on it nobody reads it.
        if (i != j && k != l) corner[i * dimension_ + j] += square[at(j * side + i)];
      }
    }
  });
}

void NormalEquations::solve(double lambda) {
  if (dimension_ == 0) return;
  if (lambda == 0) return solve_minimum_norm();
  const int d = static_cast<int>(dimension_);
  factor_ = gram_;
  const double rounding = static_cast<double>(dimension_) * std::numeric_limits<double>::epsilon();
  for (std::int64_t j = 0; j < dimension_; ++j) {
    double& square = factor_[at(j * dimension_ + j)];
    square += std::max(lambda, rounding * square);
  }
  if (!parallel_cholesky(factor_.data(), dimension_)) {
    throw Error(ErrorKind::data, fmt::format("the features of the states are dependent to working precision and lambda "
                                             "= {} does not part them: raise lambda or scale the states",
                                             lambda));
  }
  weights_ = moment_;
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, d, factor_.data(), d, weights_.data(), 1);
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, d, factor_.data(), d, weights_.data(), 1);
}

void NormalEquations::solve_minimum_norm() {
  // Nothing to fit, before the first row above all, takes no solve.
  if (std::all_of(moment_.begin(), moment_.end(), [](double m) { return m == 0; })) {
    std::fill(weights_.begin(), weights_.end(), 0.0);
    return factor_.clear();
  }
  // Unit lengths first: beside an action that counts to millions, a context between 0 and 1 would pass for rounding.
  std::vector<double> scale(at(dimension_), 1.0);
  for (std::int64_t j = 0; j < dimension_; ++j) {
    const double square = gram_[at(j * dimension_ + j)];
    if (square > 0) scale[at(j)] = 1 / std::sqrt(square);
  }
  std::vector<double> matrix = gram_;
  for (std::int64_t j = 0; j < dimension_; ++j) {
    for (std::int64_t i = j; i < dimension_; ++i) matrix[at(j * dimension_ + i)] *= scale[at(i)] * scale[at(j)];
  }
  const std::int64_t empty =
      dimension_ <= kEigenWidth ? empty_by_eigenvalues(scale, matrix) : empty_by_pivots(scale, matrix);
  // Any solution plus any empty direction is a solution: take out what lies along them, in the features' own units.
  for (std::int64_t j = 0; j < empty; ++j) {
    double* column = matrix.data() + j * dimension_;
    for (std::int64_t i = 0; i < dimension_; ++i) column[i] *= scale[at(i)];
    cblas_dscal(static_cast<int>(dimension_), 1 / cblas_dnrm2(static_cast<int>(dimension_), column, 1), column, 1);
  }
  project_out(matrix.data(), dimension_, empty, weights_.data());
  factor_.clear();
}

/// Sets the weights to a solution, and the first columns of the matrix to the empty directions, scaled; their number.
std::int64_t NormalEquations::empty_by_eigenvalues(const std::vector<double>& scale, std::vector<double>& matrix) {
  const int d = static_cast<int>(dimension_);
  std::vector<double> values(at(dimension_)), along(at(dimension_));
  symmetric_eigen(matrix.data(), dimension_, values);
  const std::int64_t empty =
      std::upper_bound(values.begin(), values.end(), empty_direction(dimension_)) - values.begin();
  for (std::int64_t j = 0; j < dimension_; ++j) weights_[at(j)] = scale[at(j)] * moment_[at(j)];
  cblas_dgemv(CblasColMajor, CblasTrans, d, d, 1.0, matrix.data(), d, weights_.data(), 1, 0.0, along.data(), 1);
  for (std::int64_t j = 0; j < dimension_; ++j) along[at(j)] = j < empty ? 0.0 : along[at(j)] / values[at(j)];
  cblas_dgemv(CblasColMajor, CblasNoTrans, d, d, 1.0, matrix.data(), d, along.data(), 1, 0.0, weights_.data(), 1);
  for (std::int64_t j = 0; j < dimension_; ++j) weights_[at(j)] *= scale[at(j)];
  return empty;
}

/// As above, from PᵀAP = LLᵀ: the solution that leaves features without a pivot out, and for each of those the
/// combination of the others that it equals.
std::int64_t NormalEquations::empty_by_pivots(const std::vector<double>& scale, std::vector<double>& matrix) {
  const int d = static_cast<int>(dimension_);
  std::vector<int> pivots(at(dimension_));
  const std::int64_t full = pivoted_cholesky(matrix.data(), dimension_, empty_direction(dimension_), pivots);
  const std::int64_t empty = dimension_ - full;
  const int rank = static_cast<int>(full);
  std::vector<double> solution(at(dimension_), 0.0);
  for (std::int64_t i = 0; i < full; ++i) {
    const auto feature = static_cast<std::size_t>(pivots[at(i)]);
    solution[at(i)] = scale[feature] * moment_[feature];
  }
  for (const CBLAS_TRANSPOSE side : {CblasNoTrans, CblasTrans}) {
    if (rank > 0)
      cblas_dtrsv(CblasColMajor, CblasLower, side, CblasNonUnit, rank, matrix.data(), d, solution.data(), 1);
  }
  std::vector<double> directions(at(dimension_ * empty), 0.0);
  for (std::int64_t j = 0; j < empty; ++j) {
    for (std::int64_t i = 0; i < full; ++i) directions[at(j * dimension_ + i)] = matrix[at(i * dimension_ + full + j)];
    directions[at(j * dimension_ + full + j)] = -1;
  }
  if (rank > 0 && empty > 0) {
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, rank, static_cast<int>(empty), 1.0,
                matrix.data(), d, directions.data(), d);
  }
  for (std::int64_t i = 0; i < dimension_; ++i) {
    const auto feature = static_cast<std::size_t>(pivots[at(i)]);
    weights_[feature] = scale[feature] * solution[at(i)];
    for (std::int64_t j = 0; j < empty; ++j) matrix[at(j * dimension_) + feature] = directions[at(j * dimension_ + i)];
  }
  return empty;
}

void NormalEquations::whiten_from(std::int64_t from, double* block, int columns, std::int64_t leading) const {
  if (from == dimension_ || columns == 0) return;
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, static_cast<int>(dimension_ - from),
              columns, 1.0, factor_.data() + from * (dimension_ + 1), static_cast<int>(dimension_), block,
              static_cast<int>(leading));
}

std::size_t NormalEquations::bytes() const noexcept {
  return (gram_.capacity() + factor_.capacity() + moment_.capacity() + weights_.capacity()) * sizeof(double);
}

std::size_t NormalEquations::bytes_needed(std::int64_t dimension, double lambda) noexcept {
  const auto d = static_cast<double>(dimension);
  const double adding = dimension <= kGroupWidth ? static_cast<double>(kGroupsAtOnce) * d * d
                                                 : static_cast<double>(chunk_rows(dimension)) * d;
  // A factor; or for λ = 0 the matrix scaled, and as much again twice for its vectors or its empty directions.
  const double solving = (lambda > 0 ? 1 : 3) * d * d;
  const double total = (d * d + 2 * d + std::max(adding + (lambda > 0 ? d * d : 0), solving)) * sizeof(double);
  return total < 9e18 ? static_cast<std::size_t>(total) : SIZE_MAX;
}

}  // namespace scrm
