/// The best of very many evenly spaced actions, where mean and squared width are polynomials of the action.
#pragma once

#include <cstdint>
#include <span>

namespace scrm {

/// Actions first, first + step, …, `count` of them.
struct ActionGrid {
  double first = 0, step = 1;
  std::int64_t count = 1;

  double action(std::int64_t index) const noexcept { return first + step * static_cast<double>(index); }
};

struct BestAction {
  std::int64_t index = 0;
  double value = 0;
};

/// The action t of the grid with the largest Σ_q t^q mean[q] + β √max(Σ_q t^q square[q], 0), the first of equals.
/// `square` may be empty. Exact: parts of the grid are left out only where a bound on the polynomials (their largest
/// Bernstein coefficient there) shows that they hold nothing better, so that 2^22 actions cost a few hundred
/// evaluations. Throws Error (usage) for an empty grid.
BestAction best_action(std::span<const double> mean, std::span<const double> square, double beta,
                       const ActionGrid& grid);

/// The same for `best.size()` contexts, whose coefficients follow each other as KernelRidge::action_polynomials gives
/// them, in parallel.
void best_actions(std::span<const double> means, std::span<const double> squares, double beta, const ActionGrid& grid,
                  std::span<BestAction> best);

}  // namespace scrm
