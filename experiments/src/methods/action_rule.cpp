#include "methods/action_rule.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace scrm {
namespace {

constexpr ActionGrid kContinuousGrid{-5, 0.5, 20};
// Numbers of the states that are asked about at once: 8 MB.
constexpr std::int64_t kQueryNumbers = std::int64_t{1} << 20;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Copies the context of distinct context number i.
void copy_context(const Block& block, int i, double* out) {
  if (block.sparse.indptr != nullptr) {
    std::fill_n(out, block.features, 0.0);
    for (std::int64_t e = block.sparse.indptr[i]; e < block.sparse.indptr[i + 1]; ++e) {
      out[block.sparse.indices[e]] = block.sparse.values[e];
    }
    return;
  }
  const std::int64_t stride = context_stride(block.replays);
  for (std::int64_t j = 0; j < block.features; ++j) {
    out[j] = block.context_type == FloatType::f32
                 ? static_cast<double>(static_cast<const float*>(block.context)[j * stride + i])
                 : static_cast<const double*>(block.context)[j * stride + i];
  }
}

std::vector<double> dense_contexts(const Block& block) {
  std::vector<double> out(at(context_rows(block) * block.features));
  for (int i = 0; i < context_rows(block); ++i) copy_context(block, i, out.data() + i * block.features);
  return out;
}

/// What the rounding of a mean may come to beside the means around it.
constexpr double kRounding = 1e-6;

/// Candidates of each of some contexts, those left that a bound does not rule out: q = mean + β width, and a width lies
/// between 0 and √(k(s, s)/λ). Most contexts have one, and no question.
class Candidates {
 public:
  Candidates(const KernelRidge& ridge, const StateKernel& kernel, double beta)
      : ridge_(ridge), kernel_(kernel), beta_(ridge.lambda() > 0 ? beta : 0) {}

  double beta() const noexcept { return beta_; }

  /// The next context: its candidates' means, and the largest k(s, s) among their states.
  void add(std::span<const double> means, double largest_kernel) {
    const double best = *std::max_element(means.begin(), means.end());
    double margin = 0;
    if (beta_ > 0) margin = beta_ * std::sqrt(largest_kernel / ridge_.lambda()) + kRounding * std::abs(best);
    for (std::size_t c = 0; c < means.size(); ++c) {
      if (means[c] < best - margin) continue;
      remaining_.push_back(static_cast<std::int64_t>(c));
      if (beta_ == 0) break;  // the first of equals
    }
    ends_.push_back(remaining_.size());
  }

  /// The number of each context's best candidate, the first of equals. fill(i, c, action) writes candidate c of context
  /// i.
  template <class Fill>
  std::vector<std::int64_t> best(std::span<const double> contexts, Fill fill) const {
    std::vector<std::int64_t> out(ends_.size());
    std::vector<double> states;
    const std::size_t at_once =
        at(std::max(std::int64_t{1}, kQueryNumbers / kernel_.state_size()) * kernel_.state_size());
    std::size_t pending = 0;  // contexts whose states are not scored yet: [pending, i]
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (size(i) == 1) {
        out[i] = remaining_[begin(i)];
      } else {
        for (std::size_t c = begin(i); c < ends_[i]; ++c) {
          const double* context = contexts.data() + static_cast<std::int64_t>(i) * kernel_.features;
          states.insert(states.end(), context, context + kernel_.features);
          states.resize(states.size() + at(kernel_.actions));
          fill(static_cast<std::int64_t>(i), remaining_[c], states.data() + states.size() - kernel_.actions);
        }
      }
      if (states.size() < at_once && i + 1 < ends_.size()) continue;
      score_pending(states, pending, i + 1, out);
      states.clear();
      pending = i + 1;
    }
    return out;
  }

 private:
  std::size_t begin(std::size_t context) const { return context == 0 ? 0 : ends_[context - 1]; }
  std::size_t size(std::size_t context) const { return ends_[context] - begin(context); }

  void score_pending(std::span<const double> states, std::size_t first, std::size_t last,
                     std::vector<std::int64_t>& out) const {
    std::vector<double> values(states.size() / at(kernel_.state_size())), widths(values.size());
    ridge_.mean_and_width(states, values, widths);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += beta_ * widths[i];
    auto value = values.begin();
    for (std::size_t i = first; i < last; ++i) {
      if (size(i) == 1) continue;
      const auto end = value + static_cast<std::ptrdiff_t>(size(i));
      out[i] = remaining_[begin(i) + at(std::max_element(value, end) - value)];
      value = end;
    }
  }

  const KernelRidge& ridge_;
  StateKernel kernel_;
  double beta_;
  std::vector<std::int64_t> remaining_;
  std::vector<std::size_t> ends_;  // of each context's candidates
};

/// The number of each context's best action on the grid, where the mean is no polynomial of the action.
std::vector<std::int64_t> best_by_enumeration(const KernelRidge& ridge, const StateKernel& kernel, double beta,
                                              const ActionGrid& grid, std::span<const double> contexts,
                                              std::int64_t count) {
  std::vector<double> actions, means(at(count * grid.count));
  for (std::int64_t g = 0; g < grid.count; ++g) actions.push_back(grid.action(g));
  ridge.grid_means(contexts, count, actions, means);
  Candidates candidates(ridge, kernel, beta);
  constexpr double kLargestGaussian = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    candidates.add(std::span(means).subspan(at(i * grid.count), at(grid.count)), kLargestGaussian);
  }
  return candidates.best(contexts, [&](auto, std::int64_t c, double* action) { *action = actions[at(c)]; });
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
  const std::int64_t labels = space.labels, features = space.kernel.features;
  std::vector<double> coefficients(at(count * (1 + labels))), bits(at(count * labels));
  ridge.bit_coefficients(contexts, count, coefficients);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t k = 0; k < labels; ++k) {
      bits[at(i * labels + k)] = coefficients[at(i * (1 + labels) + 1 + k)] > 0 ? 1.0 : 0.0;
    }
  }
  if (beta == 0 || ridge.solver() == RidgeSolver::conjugate_gradient || ridge.dimension() > kMaxWidthDimension)
    return bits;
  // Candidate 0 is the mean's best, candidate k + 1 differs from it in label k, which costs |c_k|.
  Candidates candidates(ridge, space.kernel, beta);
  std::vector<double> means(at(1 + labels));
  for (std::int64_t i = 0; i < count; ++i) {
    const double* c = coefficients.data() + i * (1 + labels);
    means[0] = c[0];
    for (std::int64_t k = 1; k <= labels; ++k) means[0] += std::max(c[k], 0.0);
    for (std::int64_t k = 1; k <= labels; ++k) means[at(k)] = means[0] - std::abs(c[k]);
    const double* x = contexts.data() + i * features;
    const double square = std::inner_product(x, x + features, x, 1.0);
    candidates.add(means, square * static_cast<double>(1 + labels));
  }
  const auto fill = [&](std::int64_t i, std::int64_t c, double* action) {
    std::copy_n(bits.data() + i * labels, labels, action);
    if (c > 0) action[c - 1] = 1 - action[c - 1];
  };
  const std::vector<std::int64_t> best = candidates.best(contexts, fill);
  for (std::int64_t i = 0; i < count; ++i) {
    if (best[at(i)] == 0) continue;
    double& bit = bits[at(i * labels + best[at(i)] - 1)];
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
  const std::int64_t query = std::max(std::int64_t{1} << 18, 16 * (space.kernel.power() + 1) * dimension);
  return at(contexts + states + threads * query) * sizeof(double);
}

}  // namespace scrm
