#include "scrm/io/shard/fingerprint.hpp"

#include <algorithm>
#include <cmath>

#include "scrm/io/file/fnv_hash.hpp"

namespace scrm {

namespace {

/// The hash so far, and rows [first, first + rows).
std::uint64_t add_rows(Dataset& dataset, std::int64_t first, int rows, BlockBuffer& buffer, std::uint64_t hash) {
  Audit audit;  // bad rows are left out, and reported by the pass that uses the data
  const int kept = dataset.fetch(first, rows)->decode(first, rows, buffer, audit);
  for (int i = 0; i < kept; ++i) {
    // Without the sign, which depends on what the outcome was said to be.
    const double values[] = {std::abs(buffer.loss()[i]), buffer.propensity()[i]};
    hash = fnv_hash(values, sizeof values, hash);
  }
  return hash;
}

}  // namespace

std::uint64_t fingerprint(Dataset& dataset) {
  const auto rows = static_cast<int>(std::min<std::int64_t>(dataset.rows(), kBlockRows));
  if (rows == 0) return kFnvBasis;
  BlockBuffer buffer(dataset.schema());
  return add_rows(dataset, 0, rows, buffer, kFnvBasis);
}

std::uint64_t sample_fingerprint(Dataset& dataset) {
  constexpr std::int64_t kPlaces = 64;
  const std::int64_t last = dataset.rows() - 1;
  std::uint64_t hash = kFnvBasis;
  BlockBuffer buffer(dataset.schema());
  // In double precision: rows times places may be more than integers hold.
  for (std::int64_t place = 0; place < std::min(kPlaces, last + 1); ++place) {
    const double share = static_cast<double>(place) / static_cast<double>(kPlaces - 1);
    const auto row = last < kPlaces ? place : static_cast<std::int64_t>(share * static_cast<double>(last));
    hash = add_rows(dataset, row, 1, buffer, hash);
  }
  return hash;
}

}  // namespace scrm
