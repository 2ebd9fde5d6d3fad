#include "scrm/io/shard/fingerprint.hpp"

#include <algorithm>
#include <cmath>

#include "scrm/io/file/fnv_hash.hpp"

namespace scrm {

std::uint64_t fingerprint(Dataset& dataset) {
  const auto rows = static_cast<int>(std::min<std::int64_t>(dataset.rows(), kBlockRows));
  if (rows == 0) return kFnvBasis;
  BlockBuffer buffer(dataset.schema());
  Audit audit;  // bad rows are left out, and reported by the pass that uses the data
  const int kept = dataset.fetch(0, rows)->decode(0, rows, buffer, audit);
  std::uint64_t hash = kFnvBasis;
  for (int i = 0; i < kept; ++i) {
    // Without the sign, which depends on what the outcome was said to be.
    const double values[] = {std::abs(buffer.loss()[i]), buffer.propensity()[i]};
    hash = fnv_hash(values, sizeof values, hash);
  }
  return hash;
}

}  // namespace scrm
