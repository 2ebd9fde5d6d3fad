#include "environments/cached_environment.hpp"

#include <algorithm>
#include <utility>

namespace scrm {

CachedEnvironment::CachedEnvironment(std::shared_ptr<const Environment> environment, std::uint64_t seed,
                                     std::int64_t rows)
    : inner_(std::move(environment)), seed_(seed) {
  for (std::int64_t begin = 0; begin < rows; begin += kBlockRows) chunks_.push_back(std::make_unique<Chunk>());
}

bool CachedEnvironment::is_cached(const EnvironmentRows& rows) const noexcept {
  return rows.rollout_key.seed == seed_ && rows.rollout_key.rollout == 0 &&
         rows.first_row + rows.rows <= static_cast<std::int64_t>(chunks_.size()) * kBlockRows;
}

const double* CachedEnvironment::chunk(std::int64_t index) const {
  Chunk& chunk = *chunks_[static_cast<std::size_t>(index)];
  std::call_once(chunk.drawn, [&] {
    const std::int64_t columns = features() + state_columns();
    chunk.columns.resize(static_cast<std::size_t>((columns + 1) * kBlockRows));
    double* context = chunk.columns.data();
    const EnvironmentRows rows{{seed_, 0}, index * kBlockRows, kBlockRows, context, context + features() * kBlockRows};
    inner_->draw(rows);
    if (action_kind() == ActionKind::continuous) inner_->action_normals(rows, context + columns * kBlockRows);
  });
  return chunk.columns.data();
}

void CachedEnvironment::draw(const EnvironmentRows& rows) const noexcept {
  if (!is_cached(rows)) return inner_->draw(rows);
  const std::int64_t last = rows.first_row + rows.rows;
  for (std::int64_t row = rows.first_row; row < last;) {
    const double* from = chunk(row / kBlockRows) + row % kBlockRows;
    const std::int64_t count = std::min<std::int64_t>(last - row, kBlockRows - row % kBlockRows);
    const std::int64_t at = row - rows.first_row;
    for (std::int64_t j = 0; j < features(); ++j, from += kBlockRows) {
      std::copy_n(from, count, rows.context + j * kBlockRows + at);
    }
    for (std::int64_t j = 0; j < state_columns(); ++j, from += kBlockRows) {
      std::copy_n(from, count, rows.state + j * kBlockRows + at);
    }
    row += count;
  }
}

void CachedEnvironment::action_normals(const EnvironmentRows& rows, double* out) const noexcept {
  if (!is_cached(rows)) return inner_->action_normals(rows, out);
  const std::int64_t last = rows.first_row + rows.rows, column = features() + state_columns();
  for (std::int64_t row = rows.first_row; row < last;) {
    const std::int64_t count = std::min<std::int64_t>(last - row, kBlockRows - row % kBlockRows);
    std::copy_n(chunk(row / kBlockRows) + column * kBlockRows + row % kBlockRows, count, out + (row - rows.first_row));
    row += count;
  }
}

}  // namespace scrm
