#include "regression/gaussian_expansion.hpp"

#include <cblas.h>

#include <algorithm>
#include <utility>

#include "pass/parallel_indices.hpp"
#include "scrm/kernels/elementary.hpp"

namespace scrm {
namespace {

constexpr std::int64_t kContextsAtOnce = 64;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

GaussianExpansion::GaussianExpansion(const StateKernel& kernel, std::span<const double> states,
                                     std::vector<double> coefficients)
    : of_contexts_(kernel), length_(kernel.length), coefficients_(std::move(coefficients)) {
  // To kernel_block a context is a state whose last number happens to be no action.
  of_contexts_.features = kernel.features - 1;
  const std::int64_t width = kernel.width();
  for (std::int64_t i = 0; i < std::ssize(coefficients_); ++i) {
    const auto state = states.begin() + i * width;
    contexts_.insert(contexts_.end(), state, state + kernel.features);
    actions_.push_back(state[kernel.features]);
  }
}

void GaussianExpansion::sums(std::span<const double> contexts, std::int64_t count, std::span<const double> actions,
                             std::span<double> out) const {
  std::fill(out.begin(), out.end(), 0.0);
  const std::int64_t states = std::ssize(coefficients_), grid = std::ssize(actions);
  if (states == 0 || grid == 0 || count == 0) return;
  // c_i k(a_g, z_i), one row a grid action.
  std::vector<double> of_actions(at(grid * states));
  for (std::int64_t g = 0; g < grid; ++g) {
    double* row = of_actions.data() + g * states;
    for (std::int64_t i = 0; i < states; ++i) {
      const double distance = (actions[at(g)] - actions_[at(i)]) / length_;
      row[i] = -0.5 * distance * distance;
    }
    exp_array(row, row, static_cast<int>(states));
    for (std::int64_t i = 0; i < states; ++i) row[i] *= coefficients_[at(i)];
  }
  const std::int64_t features = of_contexts_.width();
  parallel_indices((count + kContextsAtOnce - 1) / kContextsAtOnce, [&](std::int64_t block) {
    const std::int64_t first = block * kContextsAtOnce;
    const int n = static_cast<int>(std::min(kContextsAtOnce, count - first));
    std::vector<double> of_block(at(states * n), 1.0);
    if (features > 0) {
      kernel_block(of_contexts_, contexts_.data(), static_cast<int>(states), contexts.data() + first * features, n,
                   of_block.data(), states);
    }
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, static_cast<int>(grid), n, static_cast<int>(states), 1.0,
                of_actions.data(), static_cast<int>(states), of_block.data(), static_cast<int>(states), 0.0,
                out.data() + first * grid, static_cast<int>(grid));
  });
}

}  // namespace scrm
