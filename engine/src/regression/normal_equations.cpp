#include "regression/normal_equations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::int64_t kBlockRows = 256;
constexpr std::int64_t kGramTile = 256;
constexpr std::int64_t kSlice = 64;
constexpr std::int64_t kChunkDoubles = std::int64_t{1} << 22, kMaxChunk = 8192;

// A pivot that leaves no doubt that its feature is none of the others'.
constexpr double kLeastPivot = 1e-8;

double empty_direction(std::int64_t dimension) {
  return std::min(1e-13 * static_cast<double>(dimension), 1e-10);
}

std::int64_t chunk_rows(std::int64_t dimension) {
  return std::clamp<std::int64_t>(kChunkDoubles / std::max<std::int64_t>(dimension, 1), kSlice, kMaxChunk);
}

}  // namespace

NormalEquations::NormalEquations(std::int64_t dimension)
    : gram_(MatrixXd::Zero(dimension, dimension)),
      moment_(VectorXd::Zero(dimension)),
      weights_(VectorXd::Zero(dimension)) {}

void NormalEquations::grow(std::int64_t dimension) {
  const std::int64_t more = dimension - this->dimension();
  factor_.resize(0, 0);
  gram_.conservativeResize(dimension, dimension);
  gram_.bottomRows(more).setZero();
  gram_.rightCols(more).setZero();
  moment_.conservativeResize(dimension);
  moment_.tail(more).setZero();
  weights_.setZero(dimension);
}

void NormalEquations::add(const Eigen::Ref<const VectorXd>& y, const Fill& fill, std::int64_t first_feature) {
  const std::int64_t rows = y.size(), d = dimension(), chunk = chunk_rows(d), tiles = (d + kGramTile - 1) / kGramTile;
  const std::int64_t tile_rows = (d - first_feature + kGramTile - 1) / kGramTile;
  MatrixXd block(d, std::min(chunk, rows));
  for (std::int64_t first = 0; first < rows; first += chunk) {
    const auto columns = block.leftCols(std::min(chunk, rows - first));
    const std::int64_t n = columns.cols();
    parallel_blocks(n, kSlice,
                    [&](std::int64_t begin, std::int64_t size) { fill(first + begin, block.middleCols(begin, size)); });
    // Task t is tile (i, j) of the lower triangle, or above it and left out.
    parallel_indices(tile_rows * tiles, [&](std::int64_t t) {
      const std::int64_t i = first_feature + t / tiles * kGramTile, j = t % tiles * kGramTile;
      const std::int64_t height = std::min(kGramTile, d - i), breadth = std::min(kGramTile, d - j);
      if (j >= i + height) return;
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
  parallel_block_pairs(bits, 1, [&](std::int64_t k, std::int64_t, std::int64_t l, std::int64_t) {
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
    throw Error(ErrorKind::data, fmt::format("the features of the states are linearly dependent to working precision "
                                             "with lambda = {}: raise lambda or scale the states",
                                             lambda));
  }
  weights_ = moment_;
  solve_cholesky(factor_, weights_);
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
  if (solve_full_rank(scale, matrix)) return;
  MatrixXd directions = solve_by_pivots(scale, std::move(matrix));
  // Any solution plus any empty direction is a solution: take out what lies along them, in the features' own units.
  directions = scale.asDiagonal() * directions;
  directions.colwise().normalize();
  project_out(std::move(directions), weights_);
}

/// False where features depend on each other, or nearly so. Those that no row has keep weights of zero.
bool NormalEquations::solve_full_rank(const VectorXd& scale, MatrixXd matrix) {
  for (std::int64_t i = 0; i < dimension(); ++i) {
    if (gram_(i, i) == 0) matrix(i, i) = 1;
  }
  if (!parallel_cholesky(matrix) || matrix.diagonal().cwiseAbs2().minCoeff() < kLeastPivot) return false;
  weights_ = scale.cwiseProduct(moment_);
  solve_cholesky(matrix, weights_);
  weights_.array() *= scale.array();
  return true;
}

/// From PᵀAP = LLᵀ, a solution that leaves features without a pivot out; for each of those the combination of the
/// others that it equals, scaled, which is an empty direction.
MatrixXd NormalEquations::solve_by_pivots(const VectorXd& scale, MatrixXd matrix) {
  std::vector<int> pivots(static_cast<std::size_t>(dimension()));
  const std::int64_t rank = pivoted_cholesky(matrix, empty_direction(dimension()), pivots);
  const std::int64_t empty = dimension() - rank;
  const auto root = matrix.topLeftCorner(rank, rank);
  const Eigen::PermutationMatrix<Eigen::Dynamic> order(
      Eigen::Map<const Eigen::VectorXi>(pivots.data(), static_cast<Eigen::Index>(pivots.size())));
  VectorXd solution = order.transpose() * VectorXd(scale.cwiseProduct(moment_));
  solution.tail(empty).setZero();
  solve_cholesky(root, solution.head(rank));
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

MatrixXd NormalEquations::inverse() const {
  return inverse_by_cholesky(factor_);
}

double NormalEquations::bytes_needed(std::int64_t dimension, double lambda) noexcept {
  const auto d = static_cast<double>(dimension);
  const double adding = static_cast<double>(chunk_rows(dimension)) * d;
  // A factor; or for λ = 0 the matrix scaled, and as much again twice for its vectors or its empty directions.
  const double solving = (lambda > 0 ? 1 : 3) * d * d;
  return (d * d + 2 * d + std::max(adding + (lambda > 0 ? d * d : 0), solving)) * sizeof(double);
}

}  // namespace scrm
