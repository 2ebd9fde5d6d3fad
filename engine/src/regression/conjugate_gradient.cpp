#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "regression/kernel_solver.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Contexts go in groups of fixed size, whose sums are added up in order: fixed bits.
constexpr std::int64_t kGroup = 512;
constexpr std::int64_t kGroupsAtOnce = 32;
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

/// Weights are a matrix V of 1 + features by 1 + bits, and Φ v is (1, x)ᵀ V (1, a) row by row: two matrix products with
/// all contexts apply ΦᵀΦ, which is never formed. Conjugate gradients need few of them, since Σ (1, x)(1, x)ᵀ and
/// Σ (1, a)(1, a)ᵀ, as if contexts and bits had nothing to do with each other, are close to it and quickly inverted.
class ConjugateGradient final : public KernelSolver {
 public:
  explicit ConjugateGradient(const KernelRidgeOptions& options)
      : lambda_(options.lambda),
        features_(options.kernel),
        side_(1 + options.kernel.features),
        bits_(1 + options.kernel.actions),
        context_gram_(MatrixXd::Zero(side_, side_)),
        bit_gram_(MatrixXd::Zero(bits_, bits_)),
        moment_(MatrixXd::Zero(side_, bits_)),
        weights_(VectorXd::Zero(side_ * bits_)) {}

  void add(const States& states, const Responses& y) override {
    if (y.size() == 0) return;
    const std::int64_t first = context_count();
    keep(states);
    add_moments(first, y);
    solve();
  }

  std::int64_t dimension() const override { return side_ * bits_; }
  const VectorXd& weights() const override { return weights_; }
  void fill_features(const States& states, Columns out) const override { features_.fill(states, out); }
  MatrixXd bit_weights() const override { return weights_.reshaped(side_, bits_); }
  void squared_widths(const States&, Columns, Answers) const override { throw_unknown(); }
  void action_polynomials(const States&, Columns, Columns*) const override { throw_unknown(); }
  void grid_means(const States&, const Responses&, Columns) const override { throw_unknown(); }

  std::size_t bytes() const override {
    const auto fixed = context_gram_.size() + bit_gram_.size() + moment_.size() + weights_.size();
    return (contexts_.capacity() + actions_.capacity() + static_cast<std::size_t>(fixed)) * sizeof(double) +
           ends_.capacity() * sizeof(std::int64_t);
  }

 private:
  [[noreturn]] static void throw_unknown() {
    throw Error(ErrorKind::usage, "conjugate gradients know the means of the bits kernel alone");
  }

  std::int64_t context_count() const { return std::ssize(ends_); }
  std::int64_t first_row(std::int64_t context) const {
    return context == 0 ? 0 : ends_[static_cast<std::size_t>(context) - 1];
  }
  std::int64_t end_row(std::int64_t context) const { return ends_[static_cast<std::size_t>(context)]; }
  Eigen::Map<const MatrixXd> contexts() const { return {contexts_.data(), side_, context_count()}; }
  Eigen::Map<const MatrixXd> actions() const { return {actions_.data(), bits_, std::ssize(actions_) / bits_}; }

  void keep(const States& states);
  void add_moments(std::int64_t first_context, const Responses& y);
  /// Σ of (1, x) ⊗ v over contexts from `first` on, where change(context, v, scratch) finds Vᵀ(1, x), or without V
  /// zeros, in v, and has as many numbers again to work with.
  template <class Change>
  MatrixXd through_rows(std::int64_t first, const MatrixXd* matrix, Change change) const;
  MatrixXd times_gram(const MatrixXd& v) const;
  void solve();

  double lambda_;
  FiniteFeatures features_;
  std::int64_t side_, bits_;
  std::vector<double> contexts_;    // (1, x), one of those that follow each other
  std::vector<double> actions_;     // (1, a) of every row
  std::vector<std::int64_t> ends_;  // rows up to and with each context
  MatrixXd context_gram_, bit_gram_, moment_;
  VectorXd weights_;
};

void ConjugateGradient::keep(const States& states) {
  const std::int64_t d = side_ - 1, before = context_count();
  const std::int64_t rows_before = actions().cols();
  actions_.reserve(static_cast<std::size_t>((rows_before + states.cols()) * bits_));
  for (Eigen::Index i = 0; i < states.cols(); ++i) {
    const double* state = states.col(i).data();
    const bool same = context_count() > before && std::equal(state, state + d, contexts_.end() - d);
    if (!same) {
      contexts_.push_back(1);
      contexts_.insert(contexts_.end(), state, state + d);
      ends_.push_back(rows_before + i);
    }
    ++ends_.back();
    actions_.push_back(1);
    actions_.insert(actions_.end(), state + d, state + states.rows());
  }
}

template <class Change>
MatrixXd ConjugateGradient::through_rows(std::int64_t first, const MatrixXd* matrix, Change change) const {
  const std::int64_t groups = (context_count() - first + kGroup - 1) / kGroup;
  MatrixXd total = MatrixXd::Zero(side_, bits_);
  std::vector<MatrixXd> sums(static_cast<std::size_t>(std::min(groups, kGroupsAtOnce)), total);
  for (std::int64_t wave = 0; wave < groups; wave += kGroupsAtOnce) {
    const std::int64_t count = std::min(kGroupsAtOnce, groups - wave);
    parallel_indices(count, [&](std::int64_t g) {
      const std::int64_t begin = first + (wave + g) * kGroup;
      const auto x = contexts().middleCols(begin, std::min(kGroup, context_count() - begin));
      MatrixXd along = MatrixXd::Zero(bits_, x.cols());
      VectorXd scratch(bits_);
      if (matrix != nullptr) set_product(matrix->transpose(), x, along);
      for (Eigen::Index i = 0; i < x.cols(); ++i) change(begin + i, along.col(i), scratch);
      set_product(x, along.transpose(), sums[static_cast<std::size_t>(g)]);
    });
    for (std::int64_t g = 0; g < count; ++g) total += sums[static_cast<std::size_t>(g)];
  }
  return total;
}

MatrixXd ConjugateGradient::times_gram(const MatrixXd& v) const {
  return through_rows(0, &v, [&](std::int64_t context, auto along, VectorXd& given) {
    given = along;
    along.setZero();
    for (std::int64_t row = first_row(context); row < end_row(context); ++row) {
      const auto a = actions().col(row);
      along += a.dot(given) * a;
    }
  });
}

void ConjugateGradient::add_moments(std::int64_t first_context, const Responses& y) {
  const std::int64_t rows_before = first_row(first_context);
  moment_ += through_rows(first_context, nullptr, [&](std::int64_t context, auto along, VectorXd&) {
    for (std::int64_t row = first_row(context); row < end_row(context); ++row) {
      along += y[row - rows_before] * actions().col(row);
    }
  });
  MatrixXd longer = contexts().rightCols(context_count() - first_context);
  for (std::int64_t c = first_context; c < context_count(); ++c) {
    longer.col(c - first_context) *= std::sqrt(static_cast<double>(end_row(c) - first_row(c)));
  }
  add_gram(longer, context_gram_);
  add_gram(actions().rightCols(y.size()), bit_gram_);
}

/// Conjugate gradients from the weights of the last batch, begun anew until what is left, formed from scratch, is
/// small.
void ConjugateGradient::solve() {
  MatrixXd context_axes = context_gram_, bit_axes = bit_gram_;
  // Rounding may leave an eigenvalue below zero.
  const VectorXd context_values = symmetric_eigen(context_axes).cwiseMax(0.0);
  const VectorXd bit_values = symmetric_eigen(bit_axes).cwiseMax(0.0) / static_cast<double>(ends_.back());
  const MatrixXd divisor = ((context_values * bit_values.transpose()).array() + lambda_).matrix();
  const auto precondition = [&](const MatrixXd& v) {
    const MatrixXd along = product(product(context_axes.transpose(), v), bit_axes).cwiseQuotient(divisor);
    return product(product(context_axes, along), bit_axes.transpose());
  };
  const double enough = kTolerance * std::sqrt(dot(moment_, precondition(moment_)));
  if (!std::isfinite(enough)) {
    throw Error(ErrorKind::data, "responses are so large that their products overflow: scale them");
  }
  Eigen::Map<MatrixXd> weights(weights_.data(), side_, bits_);
  double last = INFINITY;
  int steps = 0;
  while (true) {
    MatrixXd left = moment_ - times_gram(weights) - lambda_ * weights;
    MatrixXd direction = precondition(left);
    double square = dot(left, direction);
    // A start that gains nothing has met the rounding of the products.
    if (!(std::sqrt(square) > enough) || !(std::sqrt(square) < 0.5 * last)) return;
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
}

}  // namespace

std::unique_ptr<KernelSolver> make_conjugate_gradient(const KernelRidgeOptions& options) {
  return std::make_unique<ConjugateGradient>(options);
}

double conjugate_gradient_bytes(const KernelRidgeOptions& options, std::int64_t rows) {
  const auto n = static_cast<double>(rows), side = static_cast<double>(1 + options.kernel.features);
  const auto bits = static_cast<double>(1 + options.kernel.actions);
  // Rows, contexts that grow by halves and a copy of the last batch's; squares and their axes twice over; vectors.
  return (n * (3 * side + bits + 1) + 4 * (side * side + bits * bits) +
          (12.0 + static_cast<double>(kGroupsAtOnce)) * side * bits) *
         sizeof(double);
}

}  // namespace scrm
