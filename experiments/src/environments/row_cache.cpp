#include "environments/row_cache.hpp"

#include <algorithm>
#include <utility>

namespace scrm {

RowCache::RowCache(std::shared_ptr<const Environment> environment, std::uint64_t seed, std::int64_t rows)
    : environment_(std::move(environment)),
      features_(environment_->features()),
      states_(environment_->state_columns()),
      seed_(seed) {
  for (std::int64_t begin = 0; begin < rows; begin += kBlockRows) chunks_.push_back(std::make_unique<Chunk>());
}

bool RowCache::is_cached(const EnvironmentRows& rows) const noexcept {
  return rows.rollout_key.seed == seed_ && rows.rollout_key.rollout == 0 &&
         rows.first_row + rows.rows <= static_cast<std::int64_t>(chunks_.size()) * kBlockRows;
}

const double* RowCache::chunk(std::int64_t index) const {
  Chunk& chunk = *chunks_[static_cast<std::size_t>(index)];
  std::call_once(chunk.drawn, [&] {
    const std::int64_t columns = features_ + states_;
    chunk.columns.resize(static_cast<std::size_t>((columns + 1) * kBlockRows));
    double* context = chunk.columns.data();
    const EnvironmentRows rows{{seed_, 0}, index * kBlockRows, kBlockRows, context, context + features_ * kBlockRows};
    environment_->draw(rows);
    if (environment_->action_kind() == ActionKind::continuous)
      environment_->action_normals(rows, context + columns * kBlockRows);
  });
  return chunk.columns.data();
}

void RowCache::draw(const EnvironmentRows& rows) const noexcept {
  if (!is_cached(rows)) return environment_->draw(rows);
  const std::int64_t last = rows.first_row + rows.rows;
  for (std::int64_t row = rows.first_row; row < last;) {
    const double* from = chunk(row / kBlockRows) + row % kBlockRows;
    const std::int64_t count = std::min<std::int64_t>(last - row, kBlockRows - row % kBlockRows);
    const std::int64_t at = row - rows.first_row;
    for (std::int64_t j = 0; j < features_; ++j, from += kBlockRows) {
      std::copy_n(from, count, rows.context + j * kBlockRows + at);
    }
    for (std::int64_t j = 0; j < states_; ++j, from += kBlockRows) {
      std::copy_n(from, count, rows.state + j * kBlockRows + at);
    }
    row += count;
  }
}

void RowCache::action_normals(const EnvironmentRows& rows, double* out) const noexcept {
  if (!is_cached(rows)) return environment_->action_normals(rows, out);
  const std::int64_t last = rows.first_row + rows.rows, column = features_ + states_;
  for (std::int64_t row = rows.first_row; row < last;) {
    const std::int64_t count = std::min<std::int64_t>(last - row, kBlockRows - row % kBlockRows);
    std::copy_n(chunk(row / kBlockRows) + column * kBlockRows + row % kBlockRows, count, out + (row - rows.first_row));
    row += count;
  }
}

}  // namespace scrm
