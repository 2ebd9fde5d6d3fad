#include "regression/inducing_points.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "pass/parallel_indices.hpp"

namespace scrm {
namespace {

// More rows than these would cost more to look at than they cost the ridge itself.
constexpr std::int64_t kLeastOffered = 2048;
constexpr std::int64_t kOfferedPerPoint = 4;
constexpr std::int64_t kTile = 512;
// A residual below this share of the largest k(s, s) is as good as rounding, and dividing by its root would show it.
constexpr double kLeastResidual = 1e-13;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::int64_t most_offered(std::int64_t most) {
  return std::max(kLeastOffered, kOfferedPerPoint * most);
}

}  // namespace

/// Rows that may become points, with what the points so far leave of each.
struct InducingPoints::Offer {
  std::vector<double> states;
  std::vector<double> basis;  // one row a state, column-major
  std::vector<double> residual;
  double trace = 0, largest = 0;
  std::int64_t count = 0;
};

InducingPoints::InducingPoints(const StateKernel& kernel, std::int64_t most)
    : kernel_(kernel), most_(most), root_(at(most * most)) {}

bool InducingPoints::extend(std::span<const double> states, std::int64_t rows, double tolerance, double noise) {
  if (rows == 0 || count_ == most_) return false;
  Offer offered = offer(states, rows);
  const double all_noise = noise * static_cast<double>(offered.count);
  const double enough = tolerance * (noise > 0 ? std::min(all_noise, offered.trace) : offered.trace);
  const std::int64_t before = count_;
  while (count_ < most_) {
    double left = 0;
    for (const double r : offered.residual) left += std::max(r, 0.0);
    if (left <= enough) break;
    // Ties go to the earlier row.
    const auto largest = std::max_element(offered.residual.begin(), offered.residual.end());
    if (*largest <= kLeastResidual * offered.largest) break;
    take(offered, largest - offered.residual.begin());
  }
  return count_ != before;
}

void InducingPoints::fill(const double* states, int n, double* out, std::int64_t leading) const {
  if (count_ == 0 || n == 0) return;
  const int points = static_cast<int>(count_);
  kernel_block(kernel_, states_.data(), points, states, n, out, leading);
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, points, n, 1.0, root_.data(),
              static_cast<int>(most_), out, static_cast<int>(leading));
}

void InducingPoints::to_kernel_weights(std::vector<double>& v) const {
  if (count_ == 0) return;
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, static_cast<int>(count_), root_.data(),
              static_cast<int>(most_), v.data(), 1);
}

InducingPoints::Offer InducingPoints::offer(std::span<const double> states, std::int64_t rows) const {
  const std::int64_t width = kernel_.width();
  Offer out;
  out.count = std::min(rows, most_offered(most_));
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
  out.basis.resize(at(out.count * most_));
  parallel_indices((out.count + kTile - 1) / kTile, [&](std::int64_t tile) {
    const std::int64_t begin = tile * kTile;
    const int n = static_cast<int>(std::min(kTile, out.count - begin));
    std::vector<double> block(at(count_ * n));
    fill(out.states.data() + begin * width, n, block.data(), count_);
    for (int i = 0; i < n; ++i) {
      double square = 0;
      for (std::int64_t j = 0; j < count_; ++j) {
        const double value = block[at(i * count_ + j)];
        out.basis[at(j * out.count + begin + i)] = value;
        square += value * value;
      }
      out.residual[at(begin + i)] -= square;
    }
  });
  return out;
}

void InducingPoints::take(Offer& offered, std::int64_t chosen) {
  const std::int64_t width = kernel_.width();
  const double* state = offered.states.data() + chosen * width;
  const double pivot = std::sqrt(offered.residual[at(chosen)]);
  std::vector<double> row(at(count_));
  for (std::int64_t j = 0; j < count_; ++j) {
    row[at(j)] = offered.basis[at(j * offered.count + chosen)];
    root_[at(j * most_ + count_)] = row[at(j)];
  }
  root_[at(count_ * most_ + count_)] = pivot;
  double* column = offered.basis.data() + count_ * offered.count;
  parallel_indices((offered.count + kTile - 1) / kTile, [&](std::int64_t tile) {
    const std::int64_t begin = tile * kTile;
    const int n = static_cast<int>(std::min(kTile, offered.count - begin));
    double* part = column + begin;
    kernel_block(kernel_, offered.states.data() + begin * width, n, state, 1, part, n);
    if (count_ > 0) {
      cblas_dgemv(CblasColMajor, CblasNoTrans, n, static_cast<int>(count_), -1.0, offered.basis.data() + begin,
                  static_cast<int>(offered.count), row.data(), 1, 1.0, part, 1);
    }
    for (int i = 0; i < n; ++i) {
      part[i] /= pivot;
      offered.residual[at(begin + i)] -= part[i] * part[i];
    }
  });
  offered.residual[at(chosen)] = 0;
  states_.insert(states_.end(), state, state + width);
  ++count_;
}

std::size_t InducingPoints::bytes() const noexcept {
  return (states_.capacity() + root_.capacity()) * sizeof(double);
}

double InducingPoints::bytes_needed(std::int64_t width, std::int64_t most, std::int64_t rows) noexcept {
  const auto w = static_cast<double>(width), m = static_cast<double>(most);
  const auto offered = static_cast<double>(std::min(rows, most_offered(most)));
  return (m * (m + 2 * w) + offered * (m + w + 1)) * sizeof(double);
}

}  // namespace scrm
