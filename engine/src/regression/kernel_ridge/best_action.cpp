#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "pass/parallel_indices.hpp"
#include "scrm/engine/regression/kernel_ridge.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Few enough actions to look at each.
constexpr std::int64_t kLeaf = 16;
// Bounds and values are rounded; the room left for it, relative to the sizes of the terms.
constexpr double kSlack = 1e-13;
constexpr std::int64_t kSearchedAtOnce = 64;

using Polynomial = std::span<const double>;

double value_of(Polynomial polynomial, double t) {
  double value = 0;
  for (std::size_t q = polynomial.size(); q-- > 0;) value = value * t + polynomial[q];
  return value;
}

/// No value between `from` and `to` is above this: Taylor's terms around the middle, each at its largest.
double upper_bound(Polynomial polynomial, double from, double to) {
  if (polynomial.empty()) return 0;
  const double middle = from + (to - from) / 2, radius = (to - from) / 2;
  std::vector<double> taylor(polynomial.begin(), polynomial.end());
  for (std::size_t i = 0; i + 1 < taylor.size(); ++i) {
    for (std::size_t q = taylor.size() - 1; q-- > i;) taylor[q] += middle * taylor[q + 1];
  }
  const double most = std::max(std::abs(from), std::abs(to));
  double bound = taylor.front(), size = std::abs(polynomial.front()), power = 1, largest = 1;
  for (std::size_t q = 1; q < taylor.size(); ++q) {
    power *= radius;
    largest *= most;
    size += largest * std::abs(polynomial[q]);
    bound += power * (q % 2 == 0 ? std::max(taylor[q], 0.0) : std::abs(taylor[q]));
  }
  // The shift's terms grow by at most 2^degree over those of the polynomial itself.
  return bound + kSlack * std::ldexp(size, static_cast<int>(taylor.size()) - 1);
}

/// Actions [begin, end) of the grid, none of which is worth more than `bound`.
struct Part {
  std::int64_t begin, end;
  double bound;
};

}  // namespace

BestAction best_action(Polynomial mean, Polynomial square, double beta, const ActionGrid& grid) {
  if (grid.count < 1) throw Error(ErrorKind::usage, "no actions to choose from: a grid has at least one");
  const bool by_mean = square.empty() || beta == 0;
  const auto value = [&](std::int64_t index) {
    const double t = grid.action(index), of_mean = value_of(mean, t);
    return by_mean ? of_mean : of_mean + beta * std::sqrt(std::max(value_of(square, t), 0.0));
  };
  const auto part = [&](std::int64_t begin, std::int64_t end) -> Part {
    const double from = grid.action(begin), to = grid.action(end - 1);
    double bound = upper_bound(mean, from, to);
    if (!by_mean && beta > 0) bound += beta * std::sqrt(std::max(upper_bound(square, from, to), 0.0));
    return {begin, end, bound + kSlack * std::abs(bound)};
  };
  BestAction best{0, value(0)};
  std::vector<Part> open = {part(0, grid.count)};
  while (!open.empty()) {
    const auto [begin, end, bound] = open.back();
    open.pop_back();
    if (!(bound >= best.value)) continue;
    if (end - begin > kLeaf) {
      const std::int64_t middle = begin + (end - begin) / 2;
      open.push_back(part(middle, end));
      open.push_back(part(begin, middle));
      // The more promising half on top; of equals the lower one.
      if (open.end()[-2].bound > open.back().bound) std::swap(open.end()[-2], open.back());
      continue;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const double v = value(i);
      if (v > best.value || (v == best.value && i < best.index)) best = {i, v};
    }
  }
  return best;
}

void best_actions(std::span<const double> means, std::span<const double> squares, double beta, const ActionGrid& grid,
                  std::span<BestAction> best) {
  if (best.empty()) return;
  const std::size_t terms = means.size() / best.size(), square_terms = squares.size() / best.size();
  if (terms * best.size() != means.size() || square_terms * best.size() != squares.size()) {
    throw Error(ErrorKind::usage, fmt::format("{} and {} coefficients do not divide among {} contexts", means.size(),
                                              squares.size(), best.size()));
  }
  parallel_blocks(std::ssize(best), kSearchedAtOnce, [&](std::int64_t first, std::int64_t n) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(first + n); ++i) {
      best[i] =
          best_action(means.subspan(i * terms, terms), squares.subspan(i * square_terms, square_terms), beta, grid);
    }
  });
}

}  // namespace scrm
