#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "regression/kernel_system.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

// Contexts go in groups of fixed size, whose sums are added up in order: fixed bits.
constexpr std::int64_t kGroup = 512;
constexpr std::int64_t kGroupsAtOnce = 32;
// Of the right-hand side, in the norm of the preconditioner: about the error of the weights in units of √(Σy²/λ).
constexpr double kTolerance = 1e-13;
constexpr int kMaxSteps = 20'000;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return cblas_ddot(static_cast<int>(a.size()), a.data(), 1, b.data(), 1);
}

/// y += factor · x.
void add_to(std::vector<double>& y, double factor, const std::vector<double>& x) {
  cblas_daxpy(static_cast<int>(y.size()), factor, x.data(), 1, y.data(), 1);
}

/// Weights are a matrix V of 1 + features by 1 + bits, and Φ v is (1, x)ᵀ V (1, a) row by row: two matrix products with
/// all contexts apply ΦᵀΦ, which is never formed. Conjugate gradients need few of them, since Σ (1, x)(1, x)ᵀ and
/// Σ (1, a)(1, a)ᵀ, as if contexts and bits had nothing to do with each other, are close to it and quickly inverted.
class IterativeSystem : public RidgeSystem {
 public:
  explicit IterativeSystem(const KernelRidgeOptions& options)
      : lambda_(options.lambda),
        features_(options.kernel),
        side_(1 + options.kernel.features),
        bits_(1 + options.kernel.actions),
        context_gram_(at(side_ * side_)),
        bit_gram_(at(bits_ * bits_)),
        moment_(at(side_ * bits_)),
        weights_(at(side_ * bits_)) {}

  void add(std::span<const double> states, std::span<const double> y) override;

  std::int64_t dimension() const override { return side_ * bits_; }
  const std::vector<double>& weights() const override { return weights_; }
  void basis(const double* states, int n, double* out) const override { features_.fill(states, n, out); }
  void squares(const double*, int, double*, double*) const override {
    throw Error(ErrorKind::usage, "the iterative solver knows no widths");
  }
  std::vector<double> bit_weights() const override { return weights_; }

  std::size_t bytes() const override {
    return (contexts_.capacity() + actions_.capacity() + context_gram_.capacity() + bit_gram_.capacity() +
            moment_.capacity() + weights_.capacity()) *
               sizeof(double) +
           ends_.capacity() * sizeof(std::int64_t);
  }

 private:
  std::int64_t contexts() const { return static_cast<std::int64_t>(ends_.size()); }
  std::int64_t first_row(std::int64_t context) const { return context == 0 ? 0 : ends_[at(context - 1)]; }

  void keep(std::span<const double> states, std::int64_t rows);
  void add_moments(std::int64_t first_context, std::span<const double> y);
  /// Σ of (1, x) ⊗ v over contexts from `first` on, where change(context, v, scratch) finds (1, x)ᵀV in v, or without V
  /// zeros, and has as many numbers again to work with.
  template <class Change>
  std::vector<double> through_rows(std::int64_t first, const double* matrix, Change change) const;
  std::vector<double> times_gram(const std::vector<double>& v) const;
  void solve();
  void prepare();
  std::vector<double> precondition(const std::vector<double>& v) const;

  double lambda_;
  StateFeatures features_;
  std::int64_t side_, bits_;
  std::vector<double> contexts_;    // (1, x), one of those that follow each other
  std::vector<double> actions_;     // (1, a) of every row
  std::vector<std::int64_t> ends_;  // rows up to and with each context
  std::vector<double> context_gram_, bit_gram_, moment_, weights_;
  // The preconditioner: Q_x ((Q_xᵀ V Q_a) / divisor) Q_aᵀ.
  std::vector<double> context_axes_, bit_axes_, divisor_;
};

void IterativeSystem::add(std::span<const double> states, std::span<const double> y) {
  if (y.empty()) return;
  const std::int64_t first = contexts();
  keep(states, static_cast<std::int64_t>(y.size()));
  add_moments(first, y);
  prepare();
  solve();
  for (std::vector<double>* work : {&context_axes_, &bit_axes_, &divisor_}) *work = {};
}

void IterativeSystem::keep(std::span<const double> states, std::int64_t rows) {
  const std::int64_t d = side_ - 1, width = d + bits_ - 1, before = contexts();
  const auto all = static_cast<std::int64_t>(actions_.size()) / bits_ + rows;
  actions_.reserve(at(all * bits_));
  for (std::int64_t i = 0; i < rows; ++i) {
    const double* state = states.data() + i * width;
    const bool same = contexts() > before && std::equal(state, state + d, contexts_.end() - d);
    if (!same) {
      contexts_.push_back(1);
      contexts_.insert(contexts_.end(), state, state + d);
      ends_.push_back(all - rows + i);
    }
    ++ends_.back();
    actions_.push_back(1);
    actions_.insert(actions_.end(), state + d, state + width);
  }
}

template <class Change>
std::vector<double> IterativeSystem::through_rows(std::int64_t first, const double* matrix, Change change) const {
  const std::int64_t groups = (contexts() - first + kGroup - 1) / kGroup;
  const int side = static_cast<int>(side_), bits = static_cast<int>(bits_);
  std::vector<double> total(at(dimension()), 0.0);
  std::vector<std::vector<double>> sums(at(std::min(groups, kGroupsAtOnce)), total);
  for (std::int64_t wave = 0; wave < groups; wave += kGroupsAtOnce) {
    const std::int64_t count = std::min(kGroupsAtOnce, groups - wave);
    parallel_indices(count, [&](std::int64_t g) {
      const std::int64_t begin = first + (wave + g) * kGroup;
      const int n = static_cast<int>(std::min(kGroup, contexts() - begin));
      const double* x = contexts_.data() + begin * side_;
      std::vector<double> along(at((n + 1) * bits_), 0.0);
      if (matrix != nullptr) {
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, bits, n, side, 1.0, matrix, side, x, side, 0.0,
                    along.data(), bits);
      }
      for (int i = 0; i < n; ++i) change(begin + i, along.data() + i * bits_, along.data() + n * bits_);
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, side, bits, n, 1.0, x, side, along.data(), bits, 0.0,
                  sums[at(g)].data(), side);
    });
    for (std::int64_t g = 0; g < count; ++g) add_to(total, 1, sums[at(g)]);
  }
  return total;
}

std::vector<double> IterativeSystem::times_gram(const std::vector<double>& v) const {
  return through_rows(0, v.data(), [&](std::int64_t context, double* along, double* sum) {
    std::fill_n(sum, bits_, 0.0);
    for (std::int64_t row = first_row(context); row < ends_[at(context)]; ++row) {
      const double* a = actions_.data() + row * bits_;
      double value = 0;
      for (std::int64_t k = 0; k < bits_; ++k) value += a[k] * along[k];
      for (std::int64_t k = 0; k < bits_; ++k) sum[k] += value * a[k];
    }
    std::copy_n(sum, bits_, along);
  });
}

void IterativeSystem::add_moments(std::int64_t first_context, std::span<const double> y) {
  const std::int64_t row_before = first_row(first_context);
  add_to(moment_, 1, through_rows(first_context, nullptr, [&](std::int64_t context, double* along, double*) {
           for (std::int64_t row = first_row(context); row < ends_[at(context)]; ++row) {
             for (std::int64_t k = 0; k < bits_; ++k)
               along[k] += y[at(row - row_before)] * actions_[at(row * bits_ + k)];
           }
         }));
  const int side = static_cast<int>(side_), bits = static_cast<int>(bits_);
  std::vector<double> longer(contexts_.begin() + first_context * side_, contexts_.end());
  for (std::int64_t c = first_context; c < contexts(); ++c) {
    const double times = std::sqrt(static_cast<double>(ends_[at(c)] - first_row(c)));
    cblas_dscal(side, times, longer.data() + (c - first_context) * side_, 1);
  }
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, side, static_cast<int>(contexts() - first_context), 1.0,
              longer.data(), side, 1.0, context_gram_.data(), side);
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, bits, static_cast<int>(y.size()), 1.0,
              actions_.data() + row_before * bits_, bits, 1.0, bit_gram_.data(), bits);
}

void IterativeSystem::prepare() {
  context_axes_ = context_gram_;
  bit_axes_ = bit_gram_;
  std::vector<double> context_values(at(side_)), bit_values(at(bits_));
  symmetric_eigen(context_axes_.data(), side_, context_values);
  symmetric_eigen(bit_axes_.data(), bits_, bit_values);
  divisor_.resize(at(dimension()));
  const auto rows = static_cast<double>(ends_.back());
  for (std::int64_t k = 0; k < bits_; ++k) {
    for (std::int64_t j = 0; j < side_; ++j) {
      // Rounding may leave an eigenvalue below zero.
      const double product = std::max(context_values[at(j)], 0.0) * std::max(bit_values[at(k)], 0.0) / rows;
      divisor_[at(k * side_ + j)] = product + lambda_;
    }
  }
}

std::vector<double> IterativeSystem::precondition(const std::vector<double>& v) const {
  const int side = static_cast<int>(side_), bits = static_cast<int>(bits_);
  std::vector<double> half(v.size()), out(v.size());
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, side, bits, side, 1.0, context_axes_.data(), side, v.data(),
              side, 0.0, half.data(), side);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, side, bits, bits, 1.0, half.data(), side, bit_axes_.data(),
              bits, 0.0, out.data(), side);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] /= divisor_[i];
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, side, bits, bits, 1.0, out.data(), side, bit_axes_.data(), bits,
              0.0, half.data(), side);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, side, bits, side, 1.0, context_axes_.data(), side, half.data(),
              side, 0.0, out.data(), side);
  return out;
}

/// Conjugate gradients from the weights of the last batch, begun anew until what is left, formed from scratch, is
/// small.
void IterativeSystem::solve() {
  const double enough = kTolerance * std::sqrt(dot(moment_, precondition(moment_)));
  if (!std::isfinite(enough)) {
    throw Error(ErrorKind::data, "responses are so large that their products overflow: scale them");
  }
  double last = INFINITY;
  int steps = 0;
  while (true) {
    std::vector<double> left = moment_, product = times_gram(weights_);
    add_to(left, -1, product);
    add_to(left, -lambda_, weights_);
    std::vector<double> direction = precondition(left);
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
      product = times_gram(direction);
      add_to(product, lambda_, direction);
      const double step = square / dot(direction, product);
      add_to(weights_, step, direction);
      add_to(left, -step, product);
      const std::vector<double> better = precondition(left);
      const double next = dot(left, better);
      for (std::size_t i = 0; i < direction.size(); ++i) direction[i] = better[i] + next / square * direction[i];
      square = next;
    }
  }
}

}  // namespace

std::unique_ptr<RidgeSystem> make_iterative(const KernelRidgeOptions& options) {
  return std::make_unique<IterativeSystem>(options);
}

std::size_t iterative_bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) noexcept {
  const auto n = static_cast<double>(rows), side = static_cast<double>(1 + options.kernel.features);
  const auto bits = static_cast<double>(1 + options.kernel.actions);
  // Rows, contexts that grow by halves and a copy of the last batch's; squares and their axes twice over; vectors.
  const double doubles = n * (3 * side + bits + 1) + 4 * (side * side + bits * bits) +
                         (12.0 + static_cast<double>(kGroupsAtOnce)) * side * bits;
  return static_cast<std::size_t>(doubles * sizeof(double));
}

}  // namespace scrm
