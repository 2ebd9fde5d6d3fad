#include "regression/kernel_ridge/kernel_factor.hpp"

#include <algorithm>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"

namespace scrm {

bool extend_kernel_factor(const StateKernel& kernel, const States& states, const Responses& diagonal, double tolerance,
                          Eigen::MatrixXd& factor) {
  constexpr std::int64_t kTile = 256;
  const std::int64_t first = factor.rows(), fresh = diagonal.size(), tiles = (fresh + kTile - 1) / kTile;
  eigen_assert(first + fresh == states.cols());
  factor.conservativeResize(states.cols(), states.cols());
  auto across = factor.bottomLeftCorner(fresh, first);
  auto corner = factor.bottomRightCorner(fresh, fresh);
  const auto size = [&](std::int64_t tile) { return std::min(kTile, fresh - tile * kTile); };
  parallel_indices(tiles, [&](std::int64_t t) {
    const std::int64_t row = first + t * kTile, width = row + size(t);
    kernel_values(kernel, states.middleCols(row, size(t)), states.leftCols(width),
                  factor.block(row, 0, size(t), width));
    solve_triangular_rows(factor.topLeftCorner(first, first), across.middleRows(t * kTile, size(t)));
  });
  parallel_indices(tiles * tiles, [&](std::int64_t t) {
    const std::int64_t i = t / tiles, j = t % tiles;
    if (j > i) return;
    add_product(across.middleRows(i * kTile, size(i)), across.middleRows(j * kTile, size(j)).transpose(),
                corner.block(i * kTile, j * kTile, size(i), size(j)), -1);
  });
  corner.diagonal() += diagonal;
  return fresh == 0 || (parallel_cholesky(corner) && corner.diagonal().cwiseAbs2().minCoeff() > tolerance);
}

}  // namespace scrm
