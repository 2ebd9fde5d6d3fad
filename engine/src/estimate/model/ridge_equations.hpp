/// RidgeEquations: the normal equations of every fold, summed up in a pass, and the regressions that they give.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "estimate/model/folds.hpp"
#include "estimate/model/ridge_shape.hpp"
#include "pass/pass_plan.hpp"
#include "pass/pool.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/pass/row_mask.hpp"
#include "scrm/engine/policy/target_policy.hpp"

namespace scrm {

/// Losses that were seen, raw: everything where there are none.
struct LossRange {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();

  bool is_seen() const noexcept { return std::isfinite(least); }
  void add(const LossRange& other) noexcept {
    if (!other.is_seen()) return;
    *this = is_seen() ? LossRange{std::min(least, other.least), std::max(most, other.most)} : other;
  }
};

/// Σ (φ, y)(φ, y)ᵀ of every equation and fold, lower triangles, column-major; and count and sum of all losses.
struct RidgeSums {
  struct Fold {
    std::vector<double> products;  ///< [equations, width + 1, width + 1]; empty while there are no rows
    double rows = 0, loss = 0;     ///< of all equations, those that are not summed up here too
    LossRange range;               ///< likewise
  };
  std::array<Fold, Folds::kCount> folds;

  void transfer(ByteStream& bytes);
};

/// Sums up equations [first, first + count) over the rows that count.
class RidgeReduction final : public SizedReduction {
 public:
  RidgeReduction(const RidgeShape& shape, const RidgeUnits& units, const Folds& folds, const RidgeOptions& options,
                 int first, int count)
      : shape_(shape),
        units_(units),
        folds_(folds),
        mask_(options.rows),
        memory_help_(options.memory_help),
        first_(first),
        count_(count) {}

  struct Sums final : Partial {
    RidgeSums sums;
  };

  ReductionBytes bytes() const override;
  std::unique_ptr<Partial> make() const override { return std::make_unique<Sums>(); }
  void compute(const Block& block, Partial& out) const override;
  void merge(Partial& earlier, const Partial& later) const override;
  void transfer(Partial& sums, ByteStream& bytes) const override { static_cast<Sums&>(sums).sums.transfer(bytes); }

 private:
  struct Scratch {
    std::vector<int> begins, ends, rows;
    std::vector<double> features, products;
    PolicyScratch columns;
  };
  bool is_small() const noexcept;
  int rows_at_once() const noexcept;
  /// Adds the products of some rows to those of their equation.
  void add_products(const Block& block, const int* rows, int count, Scratch& scratch, double* products) const;
  void sort_rows(const Block& block, const Folds::OfRows& folds, const std::uint8_t* keep, Scratch& scratch) const;

  const RidgeShape& shape_;
  const RidgeUnits& units_;
  const Folds& folds_;
  const RowMask* mask_;
  const char* memory_help_;
  int first_, count_;
  mutable Pool<Scratch> scratch_;
};

/// The regression of one equation for each fold, fitted on the others: `weights` [folds, width], in units.
struct RidgeSolution {
  std::vector<double> weights;
  double penalty = 0;  ///< the median of the folds', of which each has its own
};

/// Solves equation `at` of the sums; unless `cross_fitted`, every fold gets the regression of all rows with the penalty
/// that folds have chosen. `parallel`: on all threads.
RidgeSolution solve_ridge(const RidgeShape& shape, const RidgeSums& sums, int at, bool cross_fitted, bool parallel);
/// Bytes that one call holds.
std::size_t solve_ridge_bytes(const RidgeShape& shape);

}  // namespace scrm
