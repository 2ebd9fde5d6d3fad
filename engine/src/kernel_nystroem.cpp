#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernel_moments.hpp"
#include "kernel_system.hpp"
#include "parallel_indices.hpp"

namespace scrm {
namespace {

// A batch offers at most so many rows for inducing points, in even steps; more would cost more than the rows
// themselves.
constexpr std::int64_t kLeastCandidates = 2048;
constexpr std::int64_t kCandidatesPerPoint = 4;
constexpr std::int64_t kCandidateTile = 512;
// A residual below this share of the largest k(s, s) is as good as rounding, and dividing by its root would show it.
constexpr double kLeastResidual = 1e-13;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::int64_t candidates(const KernelRidgeOptions& options) {
  return std::max(kLeastCandidates, kCandidatesPerPoint * options.points);
}

/// Rows of a batch that may become inducing points, with what the points so far leave of each.
struct Candidates {
  std::vector<double> states;
  std::vector<double> basis;  // one row a candidate, column-major
  std::vector<double> residual;
  double trace = 0, largest = 0;
  std::int64_t count = 0;
};

/// The basis is φ(s) = L⁻¹k(Z, s) over inducing states Z, LLᵀ = K_ZZ; in it the ridge is primal. What φ misses of k(s,
/// s) counts as never seen, so that widths far from all points are the kernel's own and not zero.
class NystroemSystem : public RidgeSystem {
 public:
  explicit NystroemSystem(const KernelRidgeOptions& options) : options_(options), kernel_(options.kernel), moments_(0) {
    // Room for all points from the start, so that the factor's rows stay where they are.
    root_.resize(at(options.points * options.points));
  }

  void add(std::span<const double> states, std::span<const double> y) override {
    const std::int64_t before = points_;
    extend_points(states, static_cast<std::int64_t>(y.size()));
    states_.insert(states_.end(), states.begin(), states.end());
    y_.insert(y_.end(), y.begin(), y.end());
    std::int64_t from = static_cast<std::int64_t>(y_.size() - y.size());
    if (points_ != before) {
      // New points are new features of the old rows too.
      moments_ = FeatureMoments(points_);
      trace_ = residual_trace_ = 0;
      from = 0;
    }
    add_rows(from);
    moments_.solve(options_.lambda);
  }

  std::int64_t dimension() const override { return points_; }
  const std::vector<double>& weights() const override { return moments_.weights(); }
  void basis(const double* states, int n, double* out) const override {
    kernel_block(kernel_, inducing_.data(), static_cast<int>(points_), states, n, out, points_);
    divide_by_root(out, n);
  }
  void power_basis(const double* contexts, int n, double* out) const override {
    kernel_power_block(kernel_, inducing_.data(), static_cast<int>(points_), contexts, n, out, points_);
    divide_by_root(out, n * (kernel_.power() + 1));
  }

  bool has_prior() const override { return true; }
  void forms(double* columns, int count, int group, double* out) const override {
    add_products(columns, points_, count, group, -1 / options_.lambda, out);
    moments_.whiten(columns, count);
    add_products(columns, points_, count, group, 1.0, out);
  }

  std::vector<double> bit_weights() const override {
    std::vector<double> coefficients = moments_.weights();
    if (points_ > 0) {
      cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, static_cast<int>(points_), root_.data(),
                  static_cast<int>(options_.points), coefficients.data(), 1);
    }
    return sum_bit_weights(kernel_, inducing_, coefficients);
  }

  double trace_error() const override { return trace_ > 0 ? residual_trace_ / trace_ : 0.0; }
  std::size_t bytes() const override {
    return moments_.bytes() +
           (states_.capacity() + y_.capacity() + inducing_.capacity() + root_.capacity()) * sizeof(double);
  }

 private:
  void divide_by_root(double* columns, int count) const {
    if (points_ == 0 || count == 0) return;
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, static_cast<int>(points_), count, 1.0,
                root_.data(), static_cast<int>(options_.points), columns, static_cast<int>(points_));
  }

  Candidates offer(std::span<const double> states, std::int64_t rows) const;
  void extend_points(std::span<const double> states, std::int64_t rows);
  void take_point(Candidates& offered, std::int64_t chosen);
  void add_rows(std::int64_t from);

  KernelRidgeOptions options_;
  StateKernel kernel_;
  std::vector<double> states_, y_;
  std::vector<double> inducing_, root_;
  std::int64_t points_ = 0;
  FeatureMoments moments_;
  double trace_ = 0, residual_trace_ = 0;
};

Candidates NystroemSystem::offer(std::span<const double> states, std::int64_t rows) const {
  const std::int64_t width = kernel_.width();
  Candidates out;
  out.count = std::min(rows, candidates(options_));
  for (std::int64_t i = 0; i < out.count; ++i) {
    const std::int64_t row = i * rows / out.count;
    const std::span<const double> state = states.subspan(at(row * width), at(width));
    out.states.insert(out.states.end(), state.begin(), state.end());
  }
  out.residual.resize(at(out.count));
  kernel_diagonal(kernel_, out.states.data(), static_cast<int>(out.count), out.residual.data());
  for (const double k : out.residual) {
    out.trace += k;
    out.largest = std::max(out.largest, k);
  }
  out.basis.resize(at(out.count * options_.points));
  parallel_indices((out.count + kCandidateTile - 1) / kCandidateTile, [&](std::int64_t tile) {
    const std::int64_t begin = tile * kCandidateTile;
    const int n = static_cast<int>(std::min(kCandidateTile, out.count - begin));
    std::vector<double> block(at(points_ * n));
    basis(out.states.data() + begin * width, n, block.data());
    for (int i = 0; i < n; ++i) {
      double square = 0;
      for (std::int64_t j = 0; j < points_; ++j) {
        const double value = block[at(i * points_ + j)];
        out.basis[at(j * out.count + begin + i)] = value;
        square += value * value;
      }
      out.residual[at(begin + i)] -= square;
    }
  });
  return out;
}

void NystroemSystem::extend_points(std::span<const double> states, std::int64_t rows) {
  if (rows == 0 || points_ == options_.points) return;
  Candidates offered = offer(states, rows);
  // A residual acts like noise added to λ: it is small where it is small beside both.
  const double noise = options_.lambda * static_cast<double>(offered.count);
  const double enough = options_.point_tolerance * (noise > 0 ? std::min(noise, offered.trace) : offered.trace);
  while (points_ < options_.points) {
    double left = 0;
    for (const double r : offered.residual) left += std::max(r, 0.0);
    if (left <= enough) return;
    // Ties go to the earlier row.
    const auto most = std::max_element(offered.residual.begin(), offered.residual.end());
    if (*most <= kLeastResidual * offered.largest) return;
    take_point(offered, most - offered.residual.begin());
  }
}

void NystroemSystem::take_point(Candidates& offered, std::int64_t chosen) {
  const std::int64_t width = kernel_.width();
  const double* state = offered.states.data() + chosen * width;
  const double pivot = std::sqrt(offered.residual[at(chosen)]);
  std::vector<double> row(at(points_));
  for (std::int64_t j = 0; j < points_; ++j) {
    row[at(j)] = offered.basis[at(j * offered.count + chosen)];
    root_[at(j * options_.points + points_)] = row[at(j)];
  }
  root_[at(points_ * options_.points + points_)] = pivot;
  double* column = offered.basis.data() + points_ * offered.count;
  parallel_indices((offered.count + kCandidateTile - 1) / kCandidateTile, [&](std::int64_t tile) {
    const std::int64_t begin = tile * kCandidateTile;
    const int n = static_cast<int>(std::min(kCandidateTile, offered.count - begin));
    double* part = column + begin;
    kernel_block(kernel_, offered.states.data() + begin * width, n, state, 1, part, n);
    if (points_ > 0) {
      cblas_dgemv(CblasColMajor, CblasNoTrans, n, static_cast<int>(points_), -1.0, offered.basis.data() + begin,
                  static_cast<int>(offered.count), row.data(), 1, 1.0, part, 1);
    }
    for (int i = 0; i < n; ++i) {
      part[i] /= pivot;
      offered.residual[at(begin + i)] -= part[i] * part[i];
    }
  });
  offered.residual[at(chosen)] = 0;
  inducing_.insert(inducing_.end(), state, state + width);
  ++points_;
}

void NystroemSystem::add_rows(std::int64_t from) {
  const std::int64_t rows = static_cast<std::int64_t>(y_.size()) - from;
  std::vector<double> diagonal(at(rows)), missed(at(rows));
  moments_.add(std::span(y_).subspan(at(from)), [&](std::int64_t first, int count, double* out) {
    const double* states = states_.data() + (from + first) * kernel_.width();
    basis(states, count, out);
    kernel_diagonal(kernel_, states, count, diagonal.data() + first);
    for (int i = 0; i < count; ++i) {
      const double* column = out + i * points_;
      double square = 0;
      for (std::int64_t j = 0; j < points_; ++j) square += column[j] * column[j];
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
  const auto n = static_cast<double>(rows), width = static_cast<double>(options.kernel.width());
  const auto m = static_cast<double>(options.points), offered = static_cast<double>(candidates(options));
  const double doubles = n * (width + 3) + m * (m + width) + std::min(n, offered) * (m + width + 1);
  return static_cast<std::size_t>(doubles * sizeof(double)) +
         FeatureMoments::bytes_needed(options.points, options.lambda);
}

}  // namespace scrm
