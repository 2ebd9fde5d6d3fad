/// Kernel ridges fitted to rows batch by batch, for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scrm/engine/regression/kernel_ridge.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "support/reference/kernel_reference.hpp"

namespace scrm::testing {

inline KernelRidgeOptions ridge_with(const StateKernel& kernel, double lambda, RidgeSolver solver,
                                     std::optional<std::int64_t> points = 1000) {
  limit_openblas_to_one_thread();
  KernelRidgeOptions options;
  options.kernel = kernel;
  options.lambda = lambda;
  options.solver = solver;
  options.points = points;
  return options;
}

inline KernelRidge fitted(const KernelRidgeOptions& options, const RidgeRows& rows,
                          const std::vector<std::size_t>& batches) {
  KernelRidge ridge(options);
  const auto width = static_cast<std::size_t>(options.kernel.state_size());
  std::size_t first = 0;
  for (const std::size_t n : batches) {
    ridge.add(std::span(rows.states).subspan(first * width, n * width), std::span(rows.y).subspan(first, n));
    first += n;
  }
  return ridge;
}

}  // namespace scrm::testing
