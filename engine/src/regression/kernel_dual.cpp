#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "regression/kernel_system.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

// Rows that enter the factor at once: wide enough for matrix products, small enough that what is serial stays short.
constexpr std::int64_t kPanelRows = 512;
constexpr int kColumnsAtOnce = 64;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Rows [first, first + rows) of the Cholesky factor: aboveᵀ left of the diagonal, `factor` on it.
struct Panel {
  std::int64_t first = 0, rows = 0;
  std::vector<double> above;   // first × rows, column-major
  std::vector<double> factor;  // rows × rows, lower
};

/// The basis is k(S, s) over all rows so far; the factor of K + λI grows by panels and is never formed anew.
class DualSystem : public RidgeSystem {
 public:
  explicit DualSystem(const KernelRidgeOptions& options)
      : options_(options), kernel_(options.kernel), lambda_(options.lambda) {}

  void add(std::span<const double> states, std::span<const double> y) override {
    const auto rows = static_cast<std::int64_t>(y.size());
    states_.reserve(states_.size() + states.size());
    for (std::int64_t first = 0; first < rows; first += kPanelRows) {
      const std::int64_t count = std::min(kPanelRows, rows - first);
      const std::span<const double> part = states.subspan(at(first * kernel_.width()), at(count * kernel_.width()));
      if (lambda_ > 0) add_panel(part, y.subspan(at(first), at(count)));
      states_.insert(states_.end(), part.begin(), part.end());
    }
    y_.insert(y_.end(), y.begin(), y.end());
    if (rows == 0) return;
    if (lambda_ > 0) {
      solve_back();
    } else {
      solve_minimum_norm();
    }
  }

  std::int64_t dimension() const override { return static_cast<std::int64_t>(y_.size()); }
  const std::vector<double>& weights() const override { return weights_; }
  void basis(const double* states, int n, double* out) const override {
    kernel_block(kernel_, states_.data(), static_cast<int>(dimension()), states, n, out, dimension());
  }
  void power_basis(const double* contexts, int n, double* out) const override {
    kernel_power_block(kernel_, states_.data(), static_cast<int>(dimension()), contexts, n, out, dimension());
  }

  GaussianExpansion expansion() const override { return {kernel_, states_, weights_}; }

  void squares(const double* states, int n, double* basis, double* out) const override {
    prior_squares(options_, states, n, out);
    forward(basis, n, dimension());
    add_products(basis, dimension(), n, 1, -1 / lambda_, out);
  }
  void power_squares(const double* contexts, int n, double* basis, double* out) const override {
    prior_power_squares(options_, contexts, n, out);
    const int group = kernel_.power() + 1;
    forward(basis, n * group, dimension());
    add_products(basis, dimension(), n * group, group, -1 / lambda_, out);
  }

  std::vector<double> bit_weights() const override { return sum_bit_weights(kernel_, states_, weights_); }

  std::size_t bytes() const override {
    std::size_t count = states_.capacity() + y_.capacity() + weights_.capacity() + half_solved_.capacity();
    for (const Panel& panel : panels_) count += panel.above.capacity() + panel.factor.capacity();
    return count * sizeof(double);
  }

 private:
  void add_panel(std::span<const double> states, std::span<const double> y);
  void fill_factor(std::span<const double> states, Panel& panel) const;
  void forward(double* columns, int count, std::int64_t leading) const;
  void solve_back();
  void solve_minimum_norm();
  [[noreturn]] void throw_repeated_states() const;

  KernelRidgeOptions options_;
  StateKernel kernel_;
  double lambda_;
  std::vector<double> states_, y_;
  std::vector<double> half_solved_;  // L⁻¹y
  std::vector<double> weights_;      // (K + λI)⁻¹y
  std::vector<Panel> panels_;
};

void DualSystem::forward(double* columns, int count, std::int64_t leading) const {
  const int lead = static_cast<int>(leading);
  for (const Panel& panel : panels_) {
    const int rows = static_cast<int>(panel.rows), first = static_cast<int>(panel.first);
    if (first > 0) {
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, rows, count, first, -1.0, panel.above.data(), first, columns,
                  lead, 1.0, columns + first, lead);
    }
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, rows, count, 1.0, panel.factor.data(),
                rows, columns + first, lead);
  }
}

void DualSystem::fill_factor(std::span<const double> states, Panel& panel) const {
  const int rows = static_cast<int>(panel.rows), first = static_cast<int>(panel.first);
  const std::int64_t width = kernel_.width();
  panel.factor.resize(at(panel.rows * panel.rows));
  parallel_indices((rows + kColumnsAtOnce - 1) / kColumnsAtOnce, [&](std::int64_t tile) {
    const int begin = static_cast<int>(tile) * kColumnsAtOnce, count = std::min(kColumnsAtOnce, rows - begin);
    double* corner = panel.factor.data() + begin * panel.rows + begin;
    kernel_block(kernel_, states.data() + begin * width, rows - begin, states.data() + begin * width, count, corner,
                 panel.rows);
    for (int j = 0; j < count; ++j) corner[j * panel.rows + j] += lambda_;
    if (first == 0) return;
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, rows - begin, count, first, -1.0,
                panel.above.data() + begin * panel.first, first, panel.above.data() + begin * panel.first, first, 1.0,
                corner, rows);
  });
}

void DualSystem::add_panel(std::span<const double> states, std::span<const double> y) {
  Panel panel;
  panel.first = static_cast<std::int64_t>(half_solved_.size());
  panel.rows = static_cast<std::int64_t>(y.size());
  const int rows = static_cast<int>(panel.rows), first = static_cast<int>(panel.first);
  panel.above.resize(at(panel.first * panel.rows));
  if (first > 0) {
    parallel_indices((rows + kColumnsAtOnce - 1) / kColumnsAtOnce, [&](std::int64_t tile) {
      const int begin = static_cast<int>(tile) * kColumnsAtOnce, count = std::min(kColumnsAtOnce, rows - begin);
      double* columns = panel.above.data() + begin * panel.first;
      kernel_block(kernel_, states_.data(), first, states.data() + begin * kernel_.width(), count, columns,
                   panel.first);
      forward(columns, count, panel.first);
    });
  }
  fill_factor(states, panel);
  if (!cholesky(panel.factor.data(), panel.rows, panel.rows)) {
    throw Error(ErrorKind::data,
                fmt::format("the kernel's values are so large beside lambda = {} that rounding makes their matrix "
                            "indefinite: raise lambda, scale the states, or use the primal solver where there is one",
                            lambda_));
  }
  half_solved_.insert(half_solved_.end(), y.begin(), y.end());
  double* tail = half_solved_.data() + first;
  if (first > 0) {
    cblas_dgemv(CblasColMajor, CblasTrans, first, rows, -1.0, panel.above.data(), first, half_solved_.data(), 1, 1.0,
                tail, 1);
  }
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, rows, panel.factor.data(), rows, tail, 1);
  panels_.push_back(std::move(panel));
}

void DualSystem::solve_back() {
  weights_ = half_solved_;
  for (auto panel = panels_.rbegin(); panel != panels_.rend(); ++panel) {
    const int rows = static_cast<int>(panel->rows), first = static_cast<int>(panel->first);
    double* tail = weights_.data() + first;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, rows, panel->factor.data(), rows, tail, 1);
    if (first == 0) continue;
    cblas_dgemv(CblasColMajor, CblasNoTrans, first, rows, -1.0, panel->above.data(), first, tail, 1, 1.0,
                weights_.data(), 1);
  }
}

void DualSystem::solve_minimum_norm() {
  const std::int64_t n = dimension(), tiles = (n + kColumnsAtOnce - 1) / kColumnsAtOnce;
  std::vector<double> vectors(at(n * n)), values(at(n));
  parallel_indices(tiles, [&](std::int64_t tile) {
    const std::int64_t begin = tile * kColumnsAtOnce;
    const int count = static_cast<int>(std::min<std::int64_t>(kColumnsAtOnce, n - begin));
    kernel_block(kernel_, states_.data(), static_cast<int>(n), states_.data() + begin * kernel_.width(), count,
                 vectors.data() + begin * n, n);
  });
  symmetric_eigen(vectors.data(), n, values);
  const double cutoff = values.back() * static_cast<double>(n) * 4 * std::numeric_limits<double>::epsilon();
  const std::int64_t empty = std::upper_bound(values.begin(), values.end(), cutoff) - values.begin();
  // Without a finite feature map the matrix has full rank unless states repeat; then no function passes through all.
  if (empty > 0 && kernel_.kind == KernelKind::gaussian) throw_repeated_states();
  const int rows = static_cast<int>(n), full = static_cast<int>(n - empty);
  std::vector<double> along(at(n - empty));
  const double* used = vectors.data() + empty * n;
  cblas_dgemv(CblasColMajor, CblasTrans, rows, full, 1.0, used, rows, y_.data(), 1, 0.0, along.data(), 1);
  for (std::size_t j = 0; j < along.size(); ++j) along[j] /= values[at(empty) + j];
  weights_.resize(at(n));
  cblas_dgemv(CblasColMajor, CblasNoTrans, rows, full, 1.0, used, rows, along.data(), 1, 0.0, weights_.data(), 1);
}

void DualSystem::throw_repeated_states() const {
  std::vector<std::int64_t> order(y_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto row = [&](std::int64_t i) {
    return std::span(states_).subspan(at(i * kernel_.width()), at(kernel_.width()));
  };
  const auto less = [&](std::int64_t i, std::int64_t j) {
    return std::lexicographical_compare(row(i).begin(), row(i).end(), row(j).begin(), row(j).end());
  };
  std::stable_sort(order.begin(), order.end(), less);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (less(order[i - 1], order[i])) continue;
    throw Error(ErrorKind::data,
                fmt::format("the state is that of row {} again, and lambda = 0 asks for a function through both: give "
                            "a lambda above zero",
                            order[i - 1]),
                {.row = order[i]});
  }
  throw Error(
      ErrorKind::data,
      fmt::format("states are so close beside the kernel's length {} that lambda = 0 has no solution to working "
                  "precision: give a lambda above zero or a shorter length",
                  kernel_.length));
}

}  // namespace

std::unique_ptr<RidgeSystem> make_dual(const KernelRidgeOptions& options) {
  return std::make_unique<DualSystem>(options);
}

std::size_t dual_bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) noexcept {
  const auto n = static_cast<double>(rows), width = static_cast<double>(options.kernel.width());
  // The eigen decomposition of λ = 0 works on the whole matrix and as much again twice over.
  const double matrix = options.lambda > 0 ? 0.5 * n * n + 0.5 * n * std::min<double>(n, kPanelRows) : 3 * n * n;
  return static_cast<std::size_t>((matrix + n * (width + 3)) * sizeof(double));
}

}  // namespace scrm
