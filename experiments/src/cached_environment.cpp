#include "cached_environment.hpp"

#include <algorithm>
#include <utility>

namespace scrm {

CachedEnvironment::CachedEnvironment(std::shared_ptr<const Environment> environment, std::uint64_t seed,
                                     std::int64_t rows)
    : below_(std::move(environment)), seed_(seed) {
  for (std::int64_t begin = 0; begin < rows; begin += kBlockRows) chunks_.push_back(std::make_unique<Chunk>());
}

const double* CachedEnvironment::chunk(std::int64_t index) const {
  Chunk& chunk = *chunks_[static_cast<std::size_t>(index)];
  std::call_once(chunk.drawn, [&] {
    const std::int64_t columns = below_->features() + below_->state_columns();
    chunk.columns.resize(static_cast<std::size_t>(columns * kBlockRows));
    double* context = chunk.columns.data();
    below_->draw({{seed_, 0}, index * kBlockRows, kBlockRows, context, context + below_->features() * kBlockRows});
  });
  return chunk.columns.data();
}

void CachedEnvironment::draw(const EnvironmentRows& rows) const noexcept {
  const std::int64_t last = rows.first_row + rows.rows;
  const bool known = rows.deployment.seed == seed_ && rows.deployment.rollout == 0 &&
                     last <= static_cast<std::int64_t>(chunks_.size()) * kBlockRows;
  if (!known) return below_->draw(rows);
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

}  // namespace scrm
