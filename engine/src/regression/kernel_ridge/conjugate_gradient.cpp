#include "regression/kernel_ridge/conjugate_gradient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Contexts of a group at most; the sums of groups are added up in order: fixed bits.
constexpr std::int64_t kGroup = 512;
constexpr std::int64_t kGroupsAtOnce = 32;
// Where at most this share of numbers is not zero, going from one to the next is faster than products of all.
constexpr double kSparse = 0.15;
// Of the right-hand side, in the norm of the preconditioner: about the error of the weights in units of √(Σy²/λ).
constexpr double kTolerance = 1e-13;
constexpr int kMaxSteps = 20'000;

double dot(const MatrixXd& a, const MatrixXd& b) {
  return a.cwiseProduct(b).sum();
}

MatrixXd product(const Operand& a, const Operand& b) {
  MatrixXd out(a.rows, b.cols);
  set_product(a, b, out);
  return out;
}

}  // namespace

ConjugateGradient::ConjugateGradient(const KernelRidgeOptions& options)
    : lambda_(options.lambda),
      side_(1 + options.kernel.features),
      bits_(1 + options.kernel.actions),
      context_gram_(MatrixXd::Zero(side_, side_)),
      bit_gram_(MatrixXd::Zero(bits_, bits_)),
      moment_(MatrixXd::Zero(bits_, side_)),
      weights_(VectorXd::Zero(side_ * bits_)) {}

void ConjugateGradient::add(const States& states, const Responses& y) {
  if (y.size() == 0) return;
  for (Eigen::Index first = 0; first < y.size();) {
    first += add_group(states.rightCols(y.size() - first), y.tail(y.size() - first));
  }
  rows_ += y.size();
  solve();
}

/// sum += Σ along (1, x)ᵀ.
void ConjugateGradient::Group::add_products(const MatrixXd& along, MatrixXd& sum) const {
  if (dense.size() > 0) {
    add_product(along, dense.transpose(), sum);
  } else {
    sum += along * nonzero.transpose();
  }
}

/// A group of the first contexts; how many rows they have.
Eigen::Index ConjugateGradient::add_group(const States& states, const Responses& y) {
  const Eigen::Index d = side_ - 1;
  Group group;
  Eigen::Index rows = 0;
  while (rows < states.cols() && group.contexts() < kGroup) {
    ++rows;
    if (rows == states.cols() || states.col(rows).head(d) != states.col(rows - 1).head(d)) group.first.push_back(rows);
  }
  group.actions = with_ones(states.bottomRows(bits_ - 1).leftCols(rows));
  MatrixXd x(side_, group.contexts()), longer(side_, group.contexts()), along(bits_, group.contexts());
  for (std::int64_t c = 0; c < group.contexts(); ++c) {
    const Eigen::Index first = group.first[static_cast<std::size_t>(c)];
    const auto actions = group.actions_of(c);
    x.col(c) = with_ones(states.col(first).head(d));
    longer.col(c) = std::sqrt(static_cast<double>(actions.cols())) * x.col(c);
    along.col(c) = actions * y.segment(first, actions.cols());
  }
  add_gram(longer, context_gram_);
  add_gram(group.actions, bit_gram_);
  if (static_cast<double>((x.array() != 0).count()) <= kSparse * static_cast<double>(x.size())) {
    group.nonzero = x.sparseView(0, 0);
  } else {
    group.dense = std::move(x);
  }
  group.add_products(along, moment_);
  groups_.push_back(std::move(group));
  return rows;
}

MatrixXd ConjugateGradient::times_gram(const MatrixXd& v) const {
  const std::int64_t groups = std::ssize(groups_);
  MatrixXd total = MatrixXd::Zero(bits_, side_);
  std::vector<MatrixXd> sums(static_cast<std::size_t>(std::min(groups, kGroupsAtOnce)));
  for (std::int64_t wave = 0; wave < groups; wave += kGroupsAtOnce) {
    const std::int64_t count = std::min(kGroupsAtOnce, groups - wave);
    parallel_indices(count, [&](std::int64_t g) {
      const Group& group = groups_[static_cast<std::size_t>(wave + g)];
      MatrixXd along = group.dense.size() > 0 ? product(v, group.dense) : MatrixXd(v * group.nonzero);
      for (std::int64_t c = 0; c < group.contexts(); ++c) {
        const auto actions = group.actions_of(c);
        along.col(c) = actions * (actions.transpose() * along.col(c)).eval();
      }
      MatrixXd& sum = sums[static_cast<std::size_t>(g)];
      sum.setZero(bits_, side_);
      group.add_products(along, sum);
    });
    for (std::int64_t g = 0; g < count; ++g) total += sums[static_cast<std::size_t>(g)];
  }
  return total;
}

/// Conjugate gradients from the weights of the last batch, begun anew until what is left, formed from scratch, is
/// small.
void ConjugateGradient::solve() {
  MatrixXd context_axes = context_gram_, bit_axes = bit_gram_;
  // Rounding may leave an eigenvalue below zero.
  const VectorXd context_values = symmetric_eigen(context_axes).cwiseMax(0.0);
  const VectorXd bit_values = symmetric_eigen(bit_axes).cwiseMax(0.0) / static_cast<double>(rows_);
  const MatrixXd divisor = ((bit_values * context_values.transpose()).array() + lambda_).matrix();
  const auto precondition = [&](const MatrixXd& v) {
    const MatrixXd along = product(product(bit_axes.transpose(), v), context_axes).cwiseQuotient(divisor);
    return product(product(bit_axes, along), context_axes.transpose());
  };
  const double enough = kTolerance * std::sqrt(dot(moment_, precondition(moment_)));
  if (!std::isfinite(enough)) {
    throw Error(ErrorKind::data, "responses are so large that their products overflow: scale them");
  }
  Eigen::Map<MatrixXd> columns(weights_.data(), side_, bits_);
  MatrixXd weights = columns.transpose();
  double last = INFINITY;
  int steps = 0;
  while (true) {
    MatrixXd left = moment_ - times_gram(weights) - lambda_ * weights;
    MatrixXd direction = precondition(left);
    double square = dot(left, direction);
    // A start that gains nothing has met the rounding of the products.
    if (!(std::sqrt(square) > enough) || !(std::sqrt(square) < 0.5 * last)) break;
    last = std::sqrt(square);
    while (std::sqrt(square) > 0.5 * enough) {
      if (++steps > kMaxSteps) {
        throw Error(ErrorKind::data,
                    fmt::format("conjugate gradients have not settled after {} steps: raise lambda = {}, scale the "
                                "states, or use the primal solver",
                                kMaxSteps, lambda_));
      }
      const MatrixXd step_gram = times_gram(direction) + lambda_ * direction;
      const double step = square / dot(direction, step_gram);
      weights += step * direction;
      left -= step * step_gram;
      const MatrixXd better = precondition(left);
      const double next = dot(left, better);
      direction = better + next / square * direction;
      square = next;
    }
  }
  columns = weights.transpose();
}

double ConjugateGradient::bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) {
  const auto n = static_cast<double>(rows), side = static_cast<double>(1 + options.kernel.features);
  const auto bits = static_cast<double>(1 + options.kernel.actions), group = static_cast<double>(kGroup);
  // Rows; a group while it is added or, on every thread, gone through; squares and their axes twice over; vectors.
  return (n * (side + bits + 2) + group * (2 * side + bits) + 4 * (side * side + bits * bits) +
          static_cast<double>(kGroupsAtOnce) * bits * (side + group) + 12.0 * side * bits) *
         sizeof(double);
}

}  // namespace scrm
