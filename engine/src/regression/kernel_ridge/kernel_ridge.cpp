#include "scrm/engine/regression/kernel_ridge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "regression/kernel_ridge/feature_ridge.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Below this the moments of features cost nothing worth a thought.
constexpr std::int64_t kSmallDimension = 512;
// Up to so many states or contexts all become points; beyond, so many do.
constexpr std::int64_t kMaxExactPoints = 8192, kPoints = 1000;
// Squares of larger ones, summed over rows, might overflow.
constexpr double kLargestValue = 1e140;
// Columns of a block of queries: as many as keep it in cache, but enough for matrix products.
constexpr std::int64_t kQueryDoubles = std::int64_t{1} << 20;
constexpr std::int64_t kMaxColumns = 512, kMinColumns = 16;

void check_options(const KernelRidgeOptions& options) {
  check(options.kernel);
  if (!(options.lambda >= 0) || !std::isfinite(options.lambda)) {
    throw Error(
        ErrorKind::usage,
        fmt::format("lambda is {}: it must not be negative; 0 gives the minimum-norm solution", options.lambda));
  }
  if (options.points.value_or(1) < 1) throw Error(ErrorKind::usage, "there must be at least one inducing point");
  if (!(options.point_tolerance >= 0 && options.point_tolerance < 1)) {
    throw Error(ErrorKind::usage,
                fmt::format("the tolerance of inducing points is {}: it is a share, from 0 to below 1",
                            options.point_tolerance));
  }
}

/// An array of the caller's as a matrix of so many columns, one a state or context.
Eigen::Map<const Eigen::MatrixXd> as_columns(std::span<const double> numbers, std::int64_t rows, std::int64_t columns) {
  if (std::ssize(numbers) == rows * columns) return {numbers.data(), rows, columns};
  throw Error(ErrorKind::usage,
              fmt::format("{} numbers are not {} states of {} numbers", numbers.size(), columns, rows));
}

Eigen::Map<Eigen::MatrixXd> as_columns(std::span<double> numbers, std::int64_t rows, std::int64_t columns) {
  if (std::ssize(numbers) == rows * columns) return {numbers.data(), rows, columns};
  throw Error(ErrorKind::usage,
              fmt::format("there is room for {} answers, and {} states have {} each", numbers.size(), columns, rows));
}

/// k(s, s) bounds every value the state takes part in.
void check_rows(const StateKernel& kernel, const States& states, const Responses& y) {
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    if (std::isfinite(y[i])) continue;
    throw Error(ErrorKind::data, fmt::format("the response is {}: leave the row out", y[i]), {.row = i});
  }
  const Eigen::VectorXd own = kernel_diagonal(kernel, states);
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    if (own[i] <= kLargestValue && states.col(i).allFinite()) continue;
    for (Eigen::Index j = 0; j < states.rows(); ++j) {
      if (std::isfinite(states(j, i))) continue;
      throw Error(ErrorKind::data, fmt::format("number {} of the state is {}: leave the row out", j, states(j, i)),
                  {.row = i});
    }
    throw Error(ErrorKind::data,
                fmt::format("the kernel's value of the state with itself is {}: scale the states", own[i]), {.row = i});
  }
}

/// Queries that are answered together where each takes so many numbers.
std::int64_t block_of(std::int64_t numbers) {
  return std::clamp(kQueryDoubles / std::max<std::int64_t>(numbers, 1), kMinColumns, kMaxColumns);
}

/// Means, and widths where they are asked for.
void query(const FeatureRidge& ridge, std::span<const double> states, std::span<double> means, double* widths) {
  const auto queries = std::ssize(means);
  const KernelRidgeOptions& options = ridge.options();
  const auto columns = as_columns(states, options.kernel.state_size(), queries);
  const bool with_width = widths != nullptr && options.lambda > 0;
  if (with_width && options.solver == RidgeSolver::conjugate_gradient) {
    throw Error(ErrorKind::usage, "conjugate gradients give means without widths: use the primal solver");
  }
  if (widths != nullptr && !with_width) std::fill_n(widths, queries, 0.0);
  parallel_blocks(queries, block_of(ridge.dimension()), [&](std::int64_t first, std::int64_t n) {
    const auto block = columns.middleCols(first, n);
    Eigen::MatrixXd features(ridge.dimension(), n);
    ridge.fill_features(block, features);
    set_product(features.transpose(), ridge.weights(), Eigen::Map<Eigen::VectorXd>(means.data() + first, n));
    if (!with_width) return;
    Eigen::Map<Eigen::VectorXd> squares(widths + first, n);
    ridge.squared_widths(block, features, squares);
    // Where a state has been seen so often that nothing is left, rounding may go below zero.
    squares = squares.cwiseMax(0.0).cwiseSqrt();
  });
}

}  // namespace

KernelRidge::KernelRidge(const KernelRidgeOptions& options) {
  check_options(options);
  ridge_ = std::make_unique<FeatureRidge>(resolved(options));
}

KernelRidge::~KernelRidge() = default;
KernelRidge::KernelRidge(KernelRidge&&) noexcept = default;
KernelRidge& KernelRidge::operator=(KernelRidge&&) noexcept = default;

void KernelRidge::add(std::span<const double> states, std::span<const double> y) {
  const KernelRidgeOptions& options = ridge_->options();
  const StateKernel& kernel = options.kernel;
  const auto columns = as_columns(states, kernel.state_size(), std::ssize(y));
  const Eigen::Map<const Eigen::VectorXd> responses(y.data(), std::ssize(y));
  check_rows(kernel, columns, responses);
  const std::int64_t rows = ridge_->rows() + std::ssize(y);
  if (rows > std::numeric_limits<std::int32_t>::max() && options.solver != RidgeSolver::primal) {
    throw Error(ErrorKind::usage, fmt::format("{} rows are too many for this solver", rows));
  }
  ridge_->add(columns, responses);
  if (!ridge_->weights().allFinite()) {
    throw Error(ErrorKind::data, "responses are so large that their products overflow: scale them");
  }
}

void KernelRidge::mean(std::span<const double> states, std::span<double> out) const {
  query(*ridge_, states, out, nullptr);
}

void KernelRidge::mean_and_width(std::span<const double> states, std::span<double> means,
                                 std::span<double> widths) const {
  as_columns(widths, 1, std::ssize(means));
  query(*ridge_, states, means, widths.data());
}

void KernelRidge::action_polynomials(std::span<const double> contexts, std::int64_t count, std::span<double> means,
                                     std::span<double> squares) const {
  const KernelRidgeOptions& options = ridge_->options();
  const int p = options.kernel.power();
  if (p == 0)
    throw Error(ErrorKind::usage, "means are polynomials of the action for linear and polynomial kernels only");
  const auto inputs = as_columns(contexts, options.kernel.state_size() - 1, count);
  auto mean_columns = as_columns(means, p + 1, count);
  auto square_columns = as_columns(squares, squares.empty() ? 0 : 2 * p + 1, count);
  const bool with_width = !squares.empty() && options.lambda > 0;
  square_columns.setZero();
  parallel_blocks(count, block_of(ridge_->dimension() * (p + 1)), [&](std::int64_t first, std::int64_t n) {
    Columns block = square_columns.middleCols(first, n);
    ridge_->action_polynomials(inputs.middleCols(first, n), mean_columns.middleCols(first, n),
                               with_width ? &block : nullptr);
  });
}

void KernelRidge::grid_means(std::span<const double> contexts, std::int64_t count, std::span<const double> actions,
                             std::span<double> out) const {
  const StateKernel& kernel = ridge_->options().kernel;
  if (kernel.kind != KernelKind::gaussian || kernel.actions != 1) {
    throw Error(ErrorKind::usage, "means on a grid of actions need the gaussian kernel and one action a state");
  }
  const auto inputs = as_columns(contexts, kernel.features, count);
  auto answers = as_columns(out, std::ssize(actions), count);
  const Eigen::Map<const Eigen::VectorXd> grid(actions.data(), std::ssize(actions));
  ridge_->grid_means(inputs, grid, answers);
}

void KernelRidge::bit_coefficients(std::span<const double> contexts, std::int64_t count, std::span<double> out) const {
  const StateKernel& kernel = ridge_->options().kernel;
  if (kernel.kind != KernelKind::bits) throw Error(ErrorKind::usage, "coefficients of bits need the bits kernel");
  const auto inputs = as_columns(contexts, kernel.features, count);
  auto answers = as_columns(out, 1 + kernel.actions, count);
  const Eigen::MatrixXd& weights = ridge_->bit_weights();
  parallel_blocks(count, kMaxColumns, [&](std::int64_t first, std::int64_t n) {
    auto block = answers.middleCols(first, n);
    block.colwise() = weights.row(0).transpose();
    add_product(weights.bottomRows(kernel.features).transpose(), inputs.middleCols(first, n), block);
  });
}

void KernelRidge::flip_widths(std::span<const double> contexts, std::int64_t count, std::span<const double> bits,
                              std::span<double> out) const {
  const StateKernel& kernel = ridge_->options().kernel;
  if (kernel.kind != KernelKind::bits) throw Error(ErrorKind::usage, "widths of flipped bits need the bits kernel");
  const std::int64_t flips = 1 + kernel.actions;
  const auto inputs = as_columns(contexts, kernel.features, count), actions = as_columns(bits, kernel.actions, count);
  auto answers = as_columns(out, flips, count);
  if (ridge_->keeps_inverse()) {
    parallel_blocks(count, kMaxColumns, [&](std::int64_t first, std::int64_t n) {
      auto block = answers.middleCols(first, n);
      ridge_->squared_flip_widths(inputs.middleCols(first, n), actions.middleCols(first, n), block);
      block = block.cwiseMax(0.0).cwiseSqrt();
    });
    return;
  }
  // A context at a time, its states spelled out.
  parallel_indices(count, [&](std::int64_t i) {
    Eigen::MatrixXd states(kernel.state_size(), flips);
    Eigen::VectorXd means(flips);
    states.topRows(kernel.features).colwise() = inputs.col(i);
    states.bottomRows(kernel.actions).colwise() = actions.col(i);
    auto flipped = states.bottomRightCorner(kernel.actions, kernel.actions).diagonal();
    flipped.array() = 1 - flipped.array();
    mean_and_width({states.data(), static_cast<std::size_t>(states.size())},
                   {means.data(), static_cast<std::size_t>(flips)},
                   out.subspan(static_cast<std::size_t>(i * flips), static_cast<std::size_t>(flips)));
  });
}

double KernelRidge::lambda() const noexcept {
  return ridge_->options().lambda;
}

RidgeSolver KernelRidge::solver() const noexcept {
  return ridge_->options().solver;
}

std::int64_t KernelRidge::rows() const noexcept {
  return ridge_->rows();
}

std::int64_t KernelRidge::dimension() const noexcept {
  return ridge_->dimension();
}

double KernelRidge::trace_error() const noexcept {
  return ridge_->trace_error();
}

std::size_t KernelRidge::bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) {
  const double bytes = FeatureRidge::bytes_needed(resolved(options), rows);
  return bytes < 9e18 ? static_cast<std::size_t>(bytes) : SIZE_MAX;
}

std::int64_t KernelRidge::max_dimension(const KernelRidgeOptions& options, std::int64_t rows) {
  return FeatureRidge::max_dimension(resolved(options), rows);
}

KernelRidgeOptions KernelRidge::resolved(KernelRidgeOptions options) {
  const std::optional<std::int64_t> dimension = feature_dimension(options.kernel);
  if (options.solver == RidgeSolver::primal && !dimension) {
    throw Error(ErrorKind::usage, "the gaussian kernel has no finite feature map: use inducing points");
  }
  const bool solved_by_gradients = options.kernel.kind == KernelKind::bits && options.lambda > 0;
  if (options.solver == RidgeSolver::conjugate_gradient && !solved_by_gradients) {
    throw Error(ErrorKind::usage,
                "conjugate gradients are for the bits kernel with a lambda above zero: use the primal solver");
  }
  if (options.solver != RidgeSolver::automatic) return options;
  if (solved_by_gradients && std::min(*dimension, options.expected_rows) > kMaxWidthDimension) {
    options.solver = RidgeSolver::conjugate_gradient;
    return options;
  }
  const std::int64_t inputs = options.expected_rows / (options.kernel.power() > 0 ? options.replays : 1);
  options.solver = RidgeSolver::primal;
  if (dimension && *dimension <= std::max(inputs, kSmallDimension)) return options;
  options.solver = RidgeSolver::inducing_points;
  if (!options.points && inputs > kMaxExactPoints) options.points = kPoints;
  return options;
}

}  // namespace scrm
