#include "estimate/model/ridge_shape.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "scrm/kernels/scores/context_matrix.hpp"
#include "scrm/kernels/weights/moments.hpp"
#include "scrm/kernels/weights/weight_sums.hpp"

namespace scrm {
namespace {

template <class T>
RidgeUnit unit_of(const T* column, int rows) {
  if (rows == 0) return {};
  double mean = 0;
  for (int i = 0; i < rows; ++i) mean += static_cast<double>(column[i]) / rows;
  const double sd = std::sqrt(moments_around(mean, column, rows).square_sum / rows);
  // A spread that is rounding alone is none.
  return {mean, sd > 1e-12 * std::abs(mean) && std::isfinite(sd) ? sd : 1};
}

/// Feature j of the r-th row goes to out[r stride + (1 + j) apart].
template <class T>
void fill_context(const Block& block, const RidgeUnits& units, const int* rows, int count, std::int64_t stride,
                  std::int64_t apart, double* out) {
  assert(block.replays == 1);  // else they are fitted by conjugate gradients
  const auto* context = static_cast<const T*>(block.context);
  for (std::int64_t j = 0; j < block.features; ++j) {
    const T* column = context + j * kBlockRows;
    const auto [centre, scale] = units.features[static_cast<std::size_t>(j)];
    const double inverse = 1 / scale;
    double* to = out + (1 + j) * apart;
    for (int r = 0; r < count; ++r) to[r * stride] = (static_cast<double>(column[rows[r]]) - centre) * inverse;
  }
}

void fill_context(const Block& block, const RidgeUnits& units, const int* rows, int count, std::int64_t stride,
                  std::int64_t apart, double* out) {
  if (block.context_type == FloatType::f32)
    fill_context<float>(block, units, rows, count, stride, apart, out);
  else
    fill_context<double>(block, units, rows, count, stride, apart, out);
}

/// What the linear function of output o ≥ 1 is multiplied by.
double factor_of(const Block& block, const RidgeShape& shape, const RidgeUnits& units, int o, int row) {
  if (shape.kind != ActionKind::continuous)
    return 2.0 * block.bits[static_cast<std::int64_t>(o - 1) * kBlockRows + row] - 1;
  const double action = units.action.of(block.action[row]);
  return o == 1 ? action : action * action;
}

/// Sparse contexts: around zero, which is to stay one, by root mean squares; what is zero throughout gets that of all.
void set_sparse_units(const Block& block, std::vector<RidgeUnit>& units) {
  const int contexts = context_rows(block);
  for (RidgeUnit& unit : units) unit.scale = 0;
  double total = 0;
  for (std::int64_t e = 0; contexts > 0 && e < block.sparse.indptr[contexts]; ++e) {
    const double share = block.sparse.values[e] * block.sparse.values[e] / contexts;
    units[static_cast<std::size_t>(block.sparse.indices[e])].scale += share;
    total += share / static_cast<double>(units.size());
  }
  for (RidgeUnit& unit : units) unit.scale = std::sqrt(unit.scale > 0 ? unit.scale : (total > 0 ? total : 1));
}

}  // namespace

RidgeShape::RidgeShape(const Schema& schema)
    : kind(schema.action_kind),
      context_width(1 + schema.features),
      equations(kind == ActionKind::categorical ? schema.num_actions : 1),
      outputs(kind == ActionKind::continuous ? 3 : (kind == ActionKind::multilabel ? 1 + schema.num_actions : 1)) {}

RidgeUnits first_units(Source& source) {
  RidgeUnits units;
  units.features.resize(static_cast<std::size_t>(source.schema().features));
  const std::unique_ptr<BlockLoader> loader = source.make_loader();
  const std::unique_ptr<BlockGroup> group = source.fetch(0, 1);
  Audit audit;
  const Block block = source.load(*group, 0, *loader, audit);
  const std::int64_t stride = context_stride(block.replays);
  const bool sparse = block.sparse.indptr != nullptr;
  if (sparse) set_sparse_units(block, units.features);
  for (std::int64_t j = 0; !sparse && j < block.features; ++j) {
    units.features[static_cast<std::size_t>(j)] =
        block.context_type == FloatType::f32
            ? unit_of(static_cast<const float*>(block.context) + j * stride, context_rows(block))
            : unit_of(static_cast<const double*>(block.context) + j * stride, context_rows(block));
  }
  if (block.action != nullptr) units.action = unit_of(block.action, block.rows);
  units.loss = unit_of(block.loss, block.rows);
  return units;
}

void ridge_rows(const Block& block, const RidgeShape& shape, const RidgeUnits& units, const int* rows, int count,
                double* out) {
  const std::int64_t width = shape.context_width, stride = shape.width() + 1;
  for (int r = 0; r < count; ++r) out[r * stride] = 1;
  fill_context(block, units, rows, count, stride, 1, out);
  for (int r = 0; r < count; ++r) {
    double* row = out + r * stride;
    row[stride - 1] = units.loss.of(block.loss[rows[r]]);
    for (int o = 1; o < shape.outputs; ++o) {
      const double factor = factor_of(block, shape, units, o, rows[r]);
      for (std::int64_t j = 0; j < width; ++j) row[o * width + j] = factor * row[j];
    }
  }
}

void ridge_columns(const Block& block, const RidgeShape& shape, const RidgeUnits& units, const int* rows, int count,
                   double* out) {
  std::fill_n(out, count, 1.0);
  fill_context(block, units, rows, count, 1, kBlockRows, out);
  for (int o = 1; o < shape.outputs; ++o) {
    double* factors = out + o * shape.context_width * kBlockRows;
    for (int r = 0; r < count; ++r) factors[r] = factor_of(block, shape, units, o, rows[r]);
    for (std::int64_t j = 1; j < shape.context_width; ++j) {
      for (int r = 0; r < count; ++r) factors[j * kBlockRows + r] = factors[r] * out[j * kBlockRows + r];
    }
  }
  double* losses = out + shape.width() * kBlockRows;
  for (int r = 0; r < count; ++r) losses[r] = units.loss.of(block.loss[rows[r]]);
}

}  // namespace scrm
