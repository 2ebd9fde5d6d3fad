#include "scrm/kernels/scores/fourier_features.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "scrm/kernels/vector/elementary.hpp"
#include "scrm/kernels/vector/random.hpp"

namespace scrm {
namespace {

// A stream of the map's seed, which belongs to it alone; part of what a policy file means.
constexpr std::uint32_t kFourierStream = 0xF0A1;
// Centred contexts are made a tile at a time, 16 KiB, which stay in L1 while their products are added up.
constexpr int kTileRows = 64;
constexpr std::int64_t kTileColumns = 32;

template <class Number>
void centre_tile(const Number* x, std::int64_t stride, std::int64_t columns, int rows, const double* centre,
                 double* out) noexcept {
  for (std::int64_t j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) out[j * rows + i] = static_cast<double>(x[j * stride + i]) - centre[j];
  }
}

}  // namespace

FourierTransform::FourierTransform(const FourierFeatures& map, std::int64_t columns)
    : width_(map.width),
      columns_(columns),
      centre_(make_aligned<double>(static_cast<std::size_t>(columns))),
      phase_(make_aligned<double>(static_cast<std::size_t>(map.width))),
      frequency_(make_aligned<double>(static_cast<std::size_t>(map.width * columns))) {
  const auto inputs = static_cast<std::int64_t>(map.columns.empty() ? static_cast<std::size_t>(columns)  //
                                                                    : map.columns.size());
  const auto column_of = [&](std::int64_t j) {
    return map.columns.empty() ? j : map.columns[static_cast<std::size_t>(j)];
  };
  for (std::int64_t j = 0; j < inputs && !map.centre.empty(); ++j) {
    centre_[static_cast<std::size_t>(column_of(j))] = map.centre[static_cast<std::size_t>(j)];
  }
  for (std::int64_t k = 0; k < width_; ++k) {
    RandomStream random(map.seed, kFourierStream, static_cast<std::uint64_t>(k));
    phase_[static_cast<std::size_t>(k)] = 2 * std::numbers::pi * random.uniform();
    for (std::int64_t j = 0; j < inputs; ++j) {
      const double spread = map.spread.empty() ? 1.0 : map.spread[static_cast<std::size_t>(j)];
      frequency_[static_cast<std::size_t>(k * columns + column_of(j))] = random.normal() / (spread * map.bandwidth);
    }
  }
}

void FourierTransform::apply(const ContextMatrix& x, std::int64_t first, std::int64_t count, double* out,
                             std::int64_t stride) const noexcept {
  assert(x.features == columns_ && x.rows % 16 == 0 && first >= 0 && first + count <= width_ && stride >= x.rows);
  alignas(kColumnAlignment) double tile[kTileColumns * kTileRows];
  const double height = std::sqrt(2.0 / static_cast<double>(width_));
  for (int row = 0; row < x.rows; row += kTileRows) {
    const int rows = std::min(kTileRows, x.rows - row);
    const ContextMatrix part = context_tile(x, row, rows);
    for (std::int64_t k = 0; k < count; ++k) {
      std::fill_n(out + k * stride + row, rows, phase_[static_cast<std::size_t>(first + k)]);
    }
    for (std::int64_t j = 0; j < columns_; j += kTileColumns) {
      const std::int64_t columns = std::min(kTileColumns, columns_ - j);
      if (x.type == FloatType::f32) {
        centre_tile(static_cast<const float*>(part.data) + j * x.stride, x.stride, columns, rows, centre_.get() + j,
                    tile);
      } else {
        centre_tile(static_cast<const double*>(part.data) + j * x.stride, x.stride, columns, rows, centre_.get() + j,
                    tile);
      }
      add_context_scores(
          {tile, FloatType::f64, rows, columns, rows},
          {frequency_.get() + first * columns_ + j, columns_, static_cast<int>(count), out + row, stride});
    }
    for (std::int64_t k = 0; k < count; ++k) {
      double* z = out + k * stride + row;
      cos_array(z, z, rows);
      for (int i = 0; i < rows; ++i) z[i] *= height;
    }
  }
}

std::size_t FourierTransform::bytes(std::int64_t width, std::int64_t columns) noexcept {
  return static_cast<std::size_t>(width * columns + width + columns) * sizeof(double);
}

}  // namespace scrm
