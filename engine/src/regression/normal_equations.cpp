#include "regression/normal_equations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Up to this dimension every group of rows sums up a matrix of its own; larger ones share one, tile by tile.
constexpr std::int64_t kGroupDimension = 384;
constexpr std::int64_t kGroupRows = 8192;
constexpr std::int64_t kGroupsAtOnce = 32;
constexpr std::int64_t kBlockRows = 256;
constexpr std::int64_t kTile = 256;
constexpr std::int64_t kSlice = 64;
constexpr std::int64_t kChunkDoubles = std::int64_t{1} << 22;
// Below this an eigen decomposition is quick; beyond, only pivots are.
constexpr std::int64_t kEigenDimension = 256;

double empty_direction(std::int64_t dimension) {
  return std::min(1e-13 * static_cast<double>(dimension), 1e-10);
}

std::int64_t chunk_rows(std::int64_t dimension) {
  return std::clamp<std::int64_t>(kChunkDoubles / std::max<std::int64_t>(dimension, 1), kSlice, kGroupRows);
}

struct GroupSums {
  MatrixXd gram;
  VectorXd moment;
};

}  // namespace

NormalEquations::NormalEquations(std::int64_t dimension)
    : gram_(MatrixXd::Zero(dimension, dimension)),
      moment_(VectorXd::Zero(dimension)),
      weights_(VectorXd::Zero(dimension)) {}

void NormalEquations::add(const Eigen::Ref<const VectorXd>& y, const Fill& fill) {
  if (dimension() <= kGroupDimension) {
    add_by_groups(y, fill);
  } else {
    add_by_tiles(y, fill);
  }
}

void NormalEquations::add_by_groups(const Eigen::Ref<const VectorXd>& y, const Fill& fill) {
  const std::int64_t rows = y.size(), groups = (rows + kGroupRows - 1) / kGroupRows, d = dimension();
  std::vector<GroupSums> sums(static_cast<std::size_t>(std::min(groups, kGroupsAtOnce)));
  for (std::int64_t wave = 0; wave < groups; wave += kGroupsAtOnce) {
    const std::int64_t count = std::min(kGroupsAtOnce, groups - wave);
    parallel_indices(count, [&](std::int64_t g) {
      GroupSums& sum = sums[static_cast<std::size_t>(g)];
      sum = {MatrixXd::Zero(d, d), VectorXd::Zero(d)};
      MatrixXd block(d, kBlockRows);
      const std::int64_t begin = (wave + g) * kGroupRows, end = std::min(rows, begin + kGroupRows);
      for (std::int64_t first = begin; first < end; first += kBlockRows) {
        auto columns = block.leftCols(std::min(kBlockRows, end - first));
        fill(first, columns);
        add_gram(columns, sum.gram);
        add_product(columns, y.segment(first, columns.cols()), sum.moment);
      }
    });
    for (std::int64_t g = 0; g < count; ++g) {
      gram_ += sums[static_cast<std::size_t>(g)].gram;
      moment_ += sums[static_cast<std::size_t>(g)].moment;
    }
  }
}

void NormalEquations::add_by_tiles(const Eigen::Ref<const VectorXd>& y, const Fill& fill) {
  const std::int64_t rows = y.size(), d = dimension(), chunk = chunk_rows(d), tiles = (d + kTile - 1) / kTile;
  MatrixXd block(d, std::min(chunk, rows));
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const auto columns = block.leftCols(std::min(chunk, rows - first));
    const std::int64_t n = columns.cols();
    parallel_indices((n + kSlice - 1) / kSlice, [&](std::int64_t slice) {
      const std::int64_t begin = slice * kSlice;
      fill(first + begin, block.middleCols(begin, std::min(kSlice, n - begin)));
    });
    // Task t is tile (i, j), j ≤ i, of the lower triangle.
    parallel_indices(tiles * tiles, [&](std::int64_t t) {
      const std::int64_t i = t / tiles * kTile, j = t % tiles * kTile;
      if (j > i) return;
      const std::int64_t height = std::min(kTile, d - i), breadth = std::min(kTile, d - j);
      add_product(columns.middleRows(i, height), columns.middleRows(j, breadth).transpose(),
                  gram_.block(i, j, height, breadth));
      if (j == 0) add_product(columns.middleRows(i, height), y.segment(first, n), moment_.segment(i, height));
    });
  }
}

void NormalEquations::add_bits(const Eigen::Ref<const MatrixXd>& states, const Eigen::Ref<const VectorXd>& factors,
                               const Eigen::Ref<const VectorXd>& y, std::int64_t features) {
  const std::int64_t side = 1 + features, bits = 1 + states.rows() - features;
  // Bit 0 is the one that every row has.
  const auto has = [&](std::int64_t row, std::int64_t bit) { return bit == 0 || states(features + bit - 1, row) != 0; };
  // Task t is the pair (k, l), l ≤ k, of bits.
  parallel_indices(bits * bits, [&](std::int64_t t) {
    const std::int64_t k = t / bits, l = t % bits;
    if (l > k) return;
    MatrixXd block(side, kBlockRows), square = MatrixXd::Zero(side, side);
    VectorXd answers(kBlockRows);
    std::int64_t filled = 0;
    const auto flush = [&] {
      add_gram(block.leftCols(filled), square);
      if (l == 0) add_product(block.leftCols(filled), answers.head(filled), moment_.segment(k * side, side));
      filled = 0;
    };
    for (std::int64_t row = 0; row < states.cols(); ++row) {
      if (!has(row, k) || !has(row, l)) continue;
      block(0, filled) = factors[row];
      block.col(filled).tail(features) = factors[row] * states.col(row).head(features);
      answers[filled] = y[row];
      if (++filled == kBlockRows) flush();
    }
    flush();
    // Off the diagonal of bits the upper half is needed too; on it nobody reads it.
    auto corner = gram_.block(k * side, l * side, side, side);
    if (k != l) square.triangularView<Eigen::StrictlyUpper>() = square.transpose();
    corner += square;
  });
}

void NormalEquations::solve(double lambda) {
  if (dimension() == 0) return;
  if (lambda == 0) return solve_minimum_norm();
  factor_ = gram_;
  const double rounding = static_cast<double>(dimension()) * std::numeric_limits<double>::epsilon();
  factor_.diagonal() += (rounding * gram_.diagonal()).cwiseMax(lambda);
  if (!parallel_cholesky(factor_)) {
    throw Error(ErrorKind::data, fmt::format("the features of the states are dependent to working precision and lambda "
                                             "= {} does not part them: raise lambda or scale the states",
                                             lambda));
  }
  weights_ = moment_;
  solve_triangular(factor_, weights_);
  solve_triangular(factor_.transpose(), weights_);
}

void NormalEquations::solve_minimum_norm() {
  factor_.resize(0, 0);
  // Nothing to fit, before the first row above all, takes no solve.
  if (moment_.isZero(0)) {
    weights_.setZero();
    return;
  }
  // Unit lengths first: beside an action that counts to millions, a context between 0 and 1 would pass for rounding.
  const VectorXd scale = gram_.diagonal().unaryExpr([](double v) { return v > 0 ? 1 / std::sqrt(v) : 1.0; });
  MatrixXd matrix = scale.asDiagonal() * gram_ * scale.asDiagonal();
  MatrixXd directions = dimension() <= kEigenDimension ? empty_by_eigenvalues(scale, std::move(matrix))
                                                       : empty_by_pivots(scale, std::move(matrix));
  // Any solution plus any empty direction is a solution: take out what lies along them, in the features' own units.
  directions = scale.asDiagonal() * directions;
  directions.colwise().normalize();
  project_out(std::move(directions), weights_);
}

/// Sets the weights to a solution; the empty directions, scaled.
MatrixXd NormalEquations::empty_by_eigenvalues(const VectorXd& scale, MatrixXd matrix) {
  const VectorXd values = symmetric_eigen(matrix);
  const std::int64_t empty = (values.array() <= empty_direction(dimension())).count();
  const auto full = matrix.rightCols(dimension() - empty);
  VectorXd along(full.cols());
  set_product(full.transpose(), VectorXd(scale.cwiseProduct(moment_)), along);
  along.array() /= values.tail(full.cols()).array();
  set_product(full, along, weights_);
  weights_.array() *= scale.array();
  return matrix.leftCols(empty);
}

/// As above, from PᵀAP = LLᵀ: the solution that leaves features without a pivot out, and for each of those the
/// combination of the others that it equals.
MatrixXd NormalEquations::empty_by_pivots(const VectorXd& scale, MatrixXd matrix) {
  std::vector<int> pivots(static_cast<std::size_t>(dimension()));
  const std::int64_t rank = pivoted_cholesky(matrix, empty_direction(dimension()), pivots);
  const std::int64_t empty = dimension() - rank;
  const auto root = matrix.topLeftCorner(rank, rank);
  const Eigen::PermutationMatrix<Eigen::Dynamic> order(
      Eigen::Map<const Eigen::VectorXi>(pivots.data(), static_cast<Eigen::Index>(pivots.size())));
  VectorXd solution = order.transpose() * VectorXd(scale.cwiseProduct(moment_));
  solution.tail(empty).setZero();
  solve_triangular(root, solution.head(rank));
  solve_triangular(root.transpose(), solution.head(rank));
  weights_ = scale.cwiseProduct(order * solution);
  MatrixXd directions = MatrixXd::Zero(dimension(), empty);
  directions.topRows(rank) = matrix.bottomLeftCorner(empty, rank).transpose();
  directions.bottomRows(empty).diagonal().setConstant(-1);
  solve_triangular(root.transpose(), directions.topRows(rank));
  return order * directions;
}

void NormalEquations::whiten(Eigen::Ref<MatrixXd> columns) const {
  solve_triangular(factor_.bottomRightCorner(columns.rows(), columns.rows()), columns);
}

std::size_t NormalEquations::bytes() const noexcept {
  return static_cast<std::size_t>(gram_.size() + factor_.size() + moment_.size() + weights_.size()) * sizeof(double);
}

double NormalEquations::bytes_needed(std::int64_t dimension, double lambda) noexcept {
  const auto d = static_cast<double>(dimension);
  const double adding = dimension <= kGroupDimension ? static_cast<double>(kGroupsAtOnce) * d * d
                                                     : static_cast<double>(chunk_rows(dimension)) * d;
  // A factor; or for λ = 0 the matrix scaled, and as much again twice for its vectors or its empty directions.
  const double solving = (lambda > 0 ? 1 : 3) * d * d;
  return (d * d + 2 * d + std::max(adding + (lambda > 0 ? d * d : 0), solving)) * sizeof(double);
}

}  // namespace scrm
