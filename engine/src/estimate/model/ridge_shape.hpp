/// RidgeShape: which features a ridge model of outcomes has, and in which units.
#pragma once

#include <cstdint>
#include <vector>

#include "scrm/engine/pass/source.hpp"
#include "scrm/io/shard/schema.hpp"

namespace scrm {

/// What a quantity is centred on, and its unit.
struct RidgeUnit {
  double centre = 0, scale = 1;

  double of(double raw) const noexcept { return (raw - centre) / scale; }
};

/// Units in which raw numbers of any size are near one: those of the source's first block.
struct RidgeUnits {
  std::vector<RidgeUnit> features;
  RidgeUnit action;  ///< continuous
  RidgeUnit loss;
};
RidgeUnits first_units(Source& source);

/// Each equation has `outputs` linear functions of (1, x), the first by itself and the others times a factor: a and a²,
/// or one ±bit each.
struct RidgeShape {
  explicit RidgeShape(const Schema& schema);

  ActionKind kind;
  std::int64_t context_width;  ///< 1 + features
  int equations;               ///< one, or one for each categorical action
  int outputs;

  /// Features of an equation.
  std::int64_t width() const noexcept { return context_width * outputs; }
};

/// The features of some rows of a block and then their losses, in units: shape.width() + 1 numbers for each row.
void ridge_rows(const Block& block, const RidgeShape& shape, const RidgeUnits& units, const int* rows, int count,
                double* out);
/// The same as columns, kBlockRows apart.
void ridge_columns(const Block& block, const RidgeShape& shape, const RidgeUnits& units, const int* rows, int count,
                   double* out);

}  // namespace scrm
