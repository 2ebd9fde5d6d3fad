#include "methods/action_rule.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "scrm/engine/pass/dense_contexts.hpp"

namespace scrm {
namespace {

constexpr ActionGrid kContinuousGrid{-5, 0.5, 20};
// Numbers of the states that are asked about at once: 8 MB.
constexpr std::int64_t kQueryNumbers = std::int64_t{1} << 20;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::vector<double> dense_contexts(const Block& block) {
  std::vector<double> out;
  out.reserve(at(context_rows(block) * block.features));
  append_dense_contexts(block, out);
  return out;
}

/// The number of each context's best action on the grid, where the mean is no polynomial of the action.
std::vector<std::int64_t> best_by_enumeration(const KernelRidge& ridge, const StateKernel& kernel, double beta,
                                              const ActionGrid& grid, std::span<const double> contexts,
                                              std::int64_t count) {
  std::vector<double> actions, means(at(count * grid.count));
  for (std::int64_t g = 0; g < grid.count; ++g) actions.push_back(grid.action(g));
  ridge.grid_means(contexts, count, actions, means);
  std::vector<std::int64_t> best(at(count));
  // A width lies between 0 and √(k(s, s)/λ), k(s, s) = 1, which leaves most contexts one candidate and no question.
  constexpr double kRounding = 1e-6;  // what that of a mean may come to beside the means around it
  struct Candidate {
    std::int64_t context, action;
  };
  std::vector<Candidate> candidates;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto first = means.begin() + i * grid.count, last = first + grid.count;
    const auto top = std::max_element(first, last);
    best[at(i)] = top - first;
    if (beta == 0 || ridge.lambda() == 0) continue;
    const double least = *top - beta / std::sqrt(ridge.lambda()) - kRounding * std::abs(*top);
    if (std::count_if(first, last, [&](double mean) { return mean >= least; }) < 2) continue;
    for (auto mean = first; mean != last; ++mean) {
      if (*mean >= least) candidates.push_back({i, mean - first});
    }
  }
  std::vector<double> best_value(at(count), -INFINITY);
  const std::int64_t at_once = std::max(std::int64_t{1}, kQueryNumbers / kernel.state_size());
  for (std::int64_t first = 0; first < std::ssize(candidates); first += at_once) {
    const std::span some =
        std::span(candidates).subspan(at(first)).first(at(std::min(at_once, std::ssize(candidates) - first)));
    std::vector<double> states, values(some.size()), widths(some.size());
    for (const auto& [context, action] : some) {
      const auto x = contexts.begin() + context * kernel.features;
      states.insert(states.end(), x, x + kernel.features);
      states.push_back(actions[at(action)]);
    }
    ridge.mean_and_width(states, values, widths);
    for (std::size_t c = 0; c < some.size(); ++c) {
      const double value = values[c] + beta * widths[c];
      if (value <= best_value[at(some[c].context)]) continue;
      best_value[at(some[c].context)] = value;
      best[at(some[c].context)] = some[c].action;
    }
  }
  return best;
}

/// The number of each context's best action on the grid.
std::vector<std::int64_t> best_of_grid(const KernelRidge& ridge, const StateSpace& space, double beta,
                                       std::span<const double> contexts, std::int64_t count) {
  const ActionGrid grid = space.grid();
  const int power = space.kernel.power();
  if (power == 0) return best_by_enumeration(ridge, space.kernel, beta, grid, contexts, count);
  std::vector<double> means(at(count * (power + 1))), squares(beta > 0 ? at(count * (2 * power + 1)) : 0);
  ridge.action_polynomials(contexts, count, means, squares);
  std::vector<BestAction> best(at(count));
  best_actions(means, squares, beta, grid, best);
  std::vector<std::int64_t> out;
  for (const BestAction& action : best) out.push_back(action.index);
  return out;
}

/// The best bits of each context, `labels` numbers of 0 or 1 each.
std::vector<double> best_bits(const KernelRidge& ridge, const StateSpace& space, double beta,
                              std::span<const double> contexts, std::int64_t count) {
  const std::int64_t labels = space.labels;
  std::vector<double> coefficients(at(count * (1 + labels))), bits(at(count * labels));
  ridge.bit_coefficients(contexts, count, coefficients);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t k = 0; k < labels; ++k) {
      bits[at(i * labels + k)] = coefficients[at(i * (1 + labels) + 1 + k)] > 0 ? 1.0 : 0.0;
    }
  }
  const bool has_widths = ridge.lambda() > 0 && ridge.solver() != RidgeSolver::conjugate_gradient;
  if (beta == 0 || !has_widths || ridge.dimension() > kMaxWidthDimension) return bits;
  std::vector<double> widths(coefficients.size());
  ridge.flip_widths(contexts, count, bits, widths);
  for (std::int64_t i = 0; i < count; ++i) {
    // Beside the mean's best bits, those that differ from them in label k, which costs |c_k|.
    const double *c = &coefficients[at(i * (1 + labels))], *width = &widths[at(i * (1 + labels))];
    std::int64_t best = 0;
    double most = beta * width[0];
    for (std::int64_t k = 1; k <= labels; ++k) {
      const double value = beta * width[k] - std::abs(c[k]);
      if (value <= most) continue;
      most = value;
      best = k;
    }
    if (best == 0) continue;
    double& bit = bits[at(i * labels + best - 1)];
    bit = 1 - bit;
  }
  return bits;
}

}  // namespace

ActionGrid StateSpace::grid() const noexcept {
  return labels > 0 ? ActionGrid{0, 1, std::int64_t{1} << labels} : kContinuousGrid;
}

void append_states(const StateSpace& space, const Block& rows, std::vector<double>& states,
                   std::vector<double>& rewards) {
  const std::vector<double> contexts = dense_contexts(rows);
  for (int i = 0; i < rows.rows; ++i) {
    const auto context = contexts.begin() + i / rows.replays * rows.features;
    states.insert(states.end(), context, context + rows.features);
    if (space.labels == 0) states.push_back(rows.action[i]);
    if (space.labels > 0 && space.scalar_action()) states.push_back(0);
    for (std::int64_t k = 0; k < space.labels; ++k) {
      const double bit = rows.bits[k * kBlockRows + i] != 0 ? 1 : 0;
      if (space.scalar_action()) {
        states.back() = 2 * states.back() + bit;
      } else {
        states.push_back(bit);
      }
    }
    rewards.push_back(-rows.loss[i]);
  }
}

ActionRule best_action_rule(std::shared_ptr<const KernelRidge> ridge, const StateSpace& space, double beta) {
  return [ridge = std::move(ridge), space, beta](const Block& block, BlockBuffer& actions) {
    const std::vector<double> contexts = dense_contexts(block);
    const std::int64_t labels = space.labels;
    if (!space.scalar_action()) {
      const std::vector<double> bits = best_bits(*ridge, space, beta, contexts, context_rows(block));
      for (int i = 0; i < block.rows; ++i) {
        for (std::int64_t k = 0; k < labels; ++k) {
          actions.bits()[k * kBlockRows + i] = bits[at(i / block.replays * labels + k)] != 0 ? 1 : 0;
        }
      }
      return;
    }
    const std::vector<std::int64_t> best = best_of_grid(*ridge, space, beta, contexts, context_rows(block));
    for (int i = 0; i < block.rows; ++i) {
      const std::int64_t index = best[at(i / block.replays)];
      if (labels == 0) actions.action()[i] = space.grid().action(index);
      for (std::int64_t k = 0; k < labels; ++k) {
        actions.bits()[k * kBlockRows + i] = static_cast<std::uint8_t>(index >> (labels - 1 - k) & 1);
      }
    }
  };
}

std::size_t rule_bytes(const StateSpace& space, std::int64_t dimension, int threads) {
  // Contexts of a block; candidates, or the smallest group of them; what a ridge's queries hold on every thread.
  const std::int64_t contexts = kBlockRows * (space.kernel.features + 16);
  const std::int64_t candidates = space.scalar_action() ? space.grid().count : 1 + space.labels;
  const bool scanned = space.kernel.power() > 0;
  const std::int64_t states =
      scanned ? 0 : kQueryNumbers + candidates * space.kernel.state_size() + kBlockRows * candidates;
  const std::int64_t query = std::max(std::int64_t{1} << 20, 16 * (space.kernel.power() + 1) * dimension);
  return at(contexts + states + threads * query) * sizeof(double);
}

}  // namespace scrm
