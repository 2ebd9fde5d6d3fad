#include "policy/counted_rows.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace scrm {
namespace {

int tiles_of(int rows) {
  return (rows + kScoreTileRows - 1) / kScoreTileRows;
}

/// Column j of the rows listed, from contexts by columns or row by row.
template <class T>
void gather(const Block& block, std::span<const int> rows, double* out) {
  const auto* columns = static_cast<const T*>(block.context);
  for (std::int64_t j = 0; j < block.features; ++j) {
    for (const int row : rows) {
      T x;
      if (block.context_by_row != nullptr) {
        std::memcpy(&x, block.context_by_row + static_cast<std::size_t>(row * block.features + j) * sizeof(T),
                    sizeof(x));
      } else {
        x = columns[j * kBlockRows + row];
      }
      *out++ = x;
    }
  }
}

}  // namespace

CountedRows::CountedRows(const Block& block, bool has_context_tiles, TileStates& states,
                         std::span<const TiledFactor> factors, double* memory)
    : block_(block), rows_(block), states_(states.of(0)), count_(factors.size()) {
  assert(count_ <= kMostTiledFactors);
  std::copy(factors.begin(), factors.end(), factors_.begin());
  if (!has_context_tiles || block.category == nullptr) return;
  int counted = 0;
  for (int i = 0; i < block.rows; ++i) {
    index_[static_cast<std::size_t>(counted)] = i;
    counted += std::any_of(factors.begin(), factors.end(), [i](const TiledFactor& f) { return f.factor[i] != 0; });
  }
  if (4 * tiles_of(counted) > 3 * tiles_of(block.rows)) return;
  together_ = true;
  rows_.rows = counted;
  take_together(factors, states, memory);
}

void CountedRows::take_together(std::span<const TiledFactor> factors, TileStates& states, double* memory) {
  const int counted = rows_.rows, padded = std::min((counted + 31) / 32 * 32, kBlockRows);
  // Tiles are whole vectors of rows: what fills the last one is some row that no factor counts.
  std::fill(index_.begin() + counted, index_.begin() + padded, counted > 0 ? index_[0] : 0);
  states_ = memory;
  for (int i = 0; i < padded; ++i) {
    const int row = index_[static_cast<std::size_t>(i)];
    const double* from = states.of(row / kScoreTileRows) + row % kScoreTileRows;
    double* to = state(i / kScoreTileRows) + i % kScoreTileRows;
    for (int c = 0; c < ScoreTile::kStateColumns; ++c) to[c * kScoreTileRows] = from[c * kScoreTileRows];
  }
  memory += ScoreTile::kStateColumns * kBlockRows;
  for (std::size_t f = 0; f < factors.size(); ++f, memory += kBlockRows) {
    for (int i = 0; i < padded; ++i)
      memory[i] = i < counted ? factors[f].factor[index_[static_cast<std::size_t>(i)]] : 0;
    factors_[f].factor = memory;
  }
  auto* actions = reinterpret_cast<std::int32_t*>(memory);
  for (int i = 0; i < padded; ++i) actions[i] = block_.category[index_[static_cast<std::size_t>(i)]];
  rows_.category = actions;
}

void CountedRows::gather_contexts(int first, int count, double* out) const {
  const std::span rows = std::span(index_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  block_.context_type == FloatType::f32 ? gather<float>(block_, rows, out) : gather<double>(block_, rows, out);
}

}  // namespace scrm
