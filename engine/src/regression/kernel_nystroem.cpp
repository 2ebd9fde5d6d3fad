#include <algorithm>

#include "regression/inducing_points.hpp"
#include "regression/kernel_system.hpp"
#include "regression/normal_equations.hpp"

namespace scrm {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// The basis is φ(s) over inducing states; in it the ridge is primal. What φ misses of k(s, s) counts as never seen, so
/// that widths far from all points are the kernel's own and not zero.
class NystroemSystem : public RidgeSystem {
 public:
  explicit NystroemSystem(const KernelRidgeOptions& options)
      : options_(options), kernel_(options.kernel), points_(options.kernel, options.points), moments_(0) {}

  void add(std::span<const double> states, std::span<const double> y) override {
    const auto rows = static_cast<std::int64_t>(y.size());
    // A residual acts like noise added to λ: it is small where it is small beside both.
    const bool more = points_.extend(states, rows, options_.point_tolerance, options_.lambda);
    states_.insert(states_.end(), states.begin(), states.end());
    y_.insert(y_.end(), y.begin(), y.end());
    std::int64_t from = static_cast<std::int64_t>(y_.size()) - rows;
    if (more) {
      // New points are new features of the old rows too.
      moments_ = NormalEquations(points_.count());
      trace_ = residual_trace_ = 0;
      from = 0;
    }
    add_rows(from);
    moments_.solve(options_.lambda);
  }

  std::int64_t dimension() const override { return points_.count(); }
  const std::vector<double>& weights() const override { return moments_.weights(); }
  void basis(const double* states, int n, double* out) const override { points_.fill(states, n, out, dimension()); }

  void squares(const double* states, int n, double* basis, double* out) const override {
    prior_squares(options_, states, n, out);
    add_products(basis, dimension(), n, 1, -1 / options_.lambda, out);
    moments_.whiten(basis, n);
    add_products(basis, dimension(), n, 1, 1.0, out);
  }

  GaussianExpansion expansion() const override { return {kernel_, points_.states(), kernel_weights()}; }
  std::vector<double> bit_weights() const override {
    return sum_bit_weights(kernel_, points_.states(), kernel_weights());
  }

  double trace_error() const override { return trace_ > 0 ? residual_trace_ / trace_ : 0.0; }
  std::size_t bytes() const override {
    return moments_.bytes() + points_.bytes() + (states_.capacity() + y_.capacity()) * sizeof(double);
  }

 private:
  void add_rows(std::int64_t from);
  std::vector<double> kernel_weights() const {
    std::vector<double> weights = moments_.weights();
    points_.to_kernel_weights(weights);
    return weights;
  }

  KernelRidgeOptions options_;
  StateKernel kernel_;
  std::vector<double> states_, y_;
  InducingPoints points_;
  NormalEquations moments_;
  double trace_ = 0, residual_trace_ = 0;
};

void NystroemSystem::add_rows(std::int64_t from) {
  const std::int64_t rows = static_cast<std::int64_t>(y_.size()) - from, points = dimension();
  std::vector<double> diagonal(at(rows)), missed(at(rows));
  moments_.add(std::span(y_).subspan(at(from)), [&](std::int64_t first, int count, double* out) {
    const double* states = states_.data() + (from + first) * kernel_.width();
    basis(states, count, out);
    kernel_diagonal(kernel_, states, count, diagonal.data() + first);
    for (int i = 0; i < count; ++i) {
      const double* column = out + i * points;
      double square = 0;
      for (std::int64_t j = 0; j < points; ++j) square += column[j] * column[j];
      missed[at(first + i)] = std::max(diagonal[at(first + i)] - square, 0.0);
    }
  });
  for (std::int64_t i = 0; i < rows; ++i) {
    trace_ += diagonal[at(i)];
    residual_trace_ += missed[at(i)];
  }
}

}  // namespace

std::unique_ptr<RidgeSystem> make_nystroem(const KernelRidgeOptions& options) {
  return std::make_unique<NystroemSystem>(options);
}

std::size_t nystroem_bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) noexcept {
  const double kept = static_cast<double>(rows) * static_cast<double>(options.kernel.width() + 3) * sizeof(double);
  return static_cast<std::size_t>(kept + InducingPoints::bytes_needed(options.kernel.width(), options.points, rows)) +
         NormalEquations::bytes_needed(options.points, options.lambda);
}

}  // namespace scrm
