#include "scrm/engine/regression/kernel_ridge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pass/parallel_indices.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Few enough actions to look at each.
constexpr std::int64_t kLeaf = 16;
// Bounds and values are rounded; the room left for it, relative to the sizes of the terms.
constexpr double kSlack = 1e-13;
constexpr std::int64_t kContextsAtOnce = 64;

double value_of(std::span<const double> polynomial, double t) {
  double value = 0;
  for (std::size_t q = polynomial.size(); q-- > 0;) value = value * t + polynomial[q];
  return value;
}

struct Range {
  double low = 0, high = 0;
};

/// Bounds of one polynomial on intervals, with working memory of its own.
class Bounds {
 public:
  explicit Bounds(std::span<const double> polynomial) : polynomial_(polynomial), shifted_(polynomial.size()) {}

  Range on(double from, double to) {
    const std::size_t terms = polynomial_.size();
    if (terms == 0) return {};
    const double most = std::max(std::abs(from), std::abs(to));
    double size = 0;
    for (std::size_t q = terms; q-- > 0;) size = size * most + std::abs(polynomial_[q]);
    // Taylor's coefficients at `from`, in units of the interval's length.
    std::copy(polynomial_.begin(), polynomial_.end(), shifted_.begin());
    for (std::size_t i = 0; i + 1 < terms; ++i) {
      for (std::size_t q = terms - 1; q-- > i;) shifted_[q] += from * shifted_[q + 1];
    }
    double power = 1;
    for (double& c : shifted_) {
      c *= power;
      power *= to - from;
    }
    return bernstein(size);
  }

 private:
  /// b_k = Σ_{j ≤ k} C(k, j)/C(n, j) c_j enclose the polynomial on the unit interval.
  Range bernstein(double size) const {
    Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    const std::size_t n = shifted_.size() - 1;
    for (std::size_t k = 0; k <= n; ++k) {
      double sum = 0, ratio = 1;
      for (std::size_t j = 0; j <= k; ++j) {
        sum += ratio * shifted_[j];
        if (j < k) ratio *= static_cast<double>(k - j) / static_cast<double>(n - j);
      }
      range.low = std::min(range.low, sum);
      range.high = std::max(range.high, sum);
    }
    // The shift's terms grow by at most 2^n over those of the polynomial itself.
    const double room = kSlack * std::ldexp(size, static_cast<int>(n));
    return {range.low - room, range.high + room};
  }

  std::span<const double> polynomial_;
  std::vector<double> shifted_;
};

struct Part {
  std::int64_t begin, end;
  double bound;
};

class Scan {
 public:
  Scan(std::span<const double> mean, std::span<const double> square, double beta, const ActionGrid& grid)
      : mean_(mean), square_(square), beta_(beta), grid_(grid), mean_bounds_(mean), square_bounds_(square) {}

  BestAction run() {
    best_ = {0, value(0)};
    std::vector<Part> open = {part(0, grid_.count)};
    while (!open.empty()) {
      const Part next = open.back();
      open.pop_back();
      if (!(next.bound >= best_.value)) continue;
      if (next.end - next.begin <= kLeaf) {
        look_at(next);
        continue;
      }
      const std::int64_t middle = next.begin + (next.end - next.begin) / 2;
      Part low = part(next.begin, middle), high = part(middle, next.end);
      // The more promising half on top; of equals the lower one.
      if (high.bound > low.bound) std::swap(low, high);
      open.push_back(high);
      open.push_back(low);
    }
    return best_;
  }

 private:
  double value(std::int64_t index) const {
    const double t = grid_.action(index);
    const double mean = value_of(mean_, t);
    return square_.empty() || beta_ == 0 ? mean : mean + beta_ * std::sqrt(std::max(value_of(square_, t), 0.0));
  }

  Part part(std::int64_t begin, std::int64_t end) {
    const double from = grid_.action(begin), to = grid_.action(end - 1);
    double bound = mean_bounds_.on(from, to).high;
    if (!square_.empty() && beta_ != 0) {
      const Range range = square_bounds_.on(from, to);
      bound += beta_ * std::sqrt(std::max(beta_ > 0 ? range.high : range.low, 0.0));
      bound += kSlack * std::abs(bound);
    }
    return {begin, end, bound};
  }

  void look_at(const Part& part) {
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const double v = value(i);
      if (v > best_.value || (v == best_.value && i < best_.index)) best_ = {i, v};
    }
  }

  std::span<const double> mean_, square_;
  double beta_;
  ActionGrid grid_;
  Bounds mean_bounds_, square_bounds_;
  BestAction best_;
};

}  // namespace

BestAction best_action(std::span<const double> mean, std::span<const double> square, double beta,
                       const ActionGrid& grid) {
  if (grid.count < 1) throw Error(ErrorKind::usage, "no actions to choose from: a grid has at least one");
  return Scan(mean, square, beta, grid).run();
}

void best_actions(std::span<const double> means, std::span<const double> squares, double beta, const ActionGrid& grid,
                  std::span<BestAction> best) {
  if (best.empty()) return;
  if (means.size() % best.size() != 0 || squares.size() % best.size() != 0) {
    throw Error(ErrorKind::usage, fmt::format("{} and {} coefficients do not divide among {} contexts", means.size(),
                                              squares.size(), best.size()));
  }
  const std::size_t terms = means.size() / best.size(), square_terms = squares.size() / best.size();
  const auto count = static_cast<std::int64_t>(best.size());
  parallel_indices((count + kContextsAtOnce - 1) / kContextsAtOnce, [&](std::int64_t block) {
    const std::int64_t end = std::min(count, (block + 1) * kContextsAtOnce);
    for (std::int64_t i = block * kContextsAtOnce; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      best[at] =
          best_action(means.subspan(at * terms, terms), squares.subspan(at * square_terms, square_terms), beta, grid);
    }
  });
}

}  // namespace scrm
