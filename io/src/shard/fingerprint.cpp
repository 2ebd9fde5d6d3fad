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

std::uint64_t hash_of(double number) {
  return fnv_hash(&number, sizeof number);
}

/// The sum over the numbers of a row other than zero: neither the order of columns nor the form of a context, dense or
/// sparse, float32 or float64, changes it.
template <class T>
std::uint64_t column_hashes(const Block& block, int row) {
  const T* context = static_cast<const T*>(block.context) + row;
  std::uint64_t sum = 0;
  for (std::int64_t j = 0; j < block.features; ++j) {
    const double number = context[j * kBlockRows];
    if (number != 0) sum += hash_of(number);
  }
  return sum;
}

std::uint64_t context_hash(const Block& block, int row) {
  if (block.sparse.indptr == nullptr)
    return block.context_type == FloatType::f32 ? column_hashes<float>(block, row) : column_hashes<double>(block, row);
  std::uint64_t sum = 0;
  for (std::int64_t k = block.sparse.indptr[row]; k < block.sparse.indptr[row + 1]; ++k)
    if (block.sparse.values[k] != 0) sum += hash_of(block.sparse.values[k]);
  return sum;
}

std::uint64_t action_hash(const Block& block, int row, std::uint64_t hash) {
  switch (block.action_kind) {
    case ActionKind::continuous:
      return fnv_hash(block.action + row, sizeof(double), hash);
    case ActionKind::categorical:
      return fnv_hash(block.category + row, sizeof(std::int32_t), hash);
    case ActionKind::multilabel:
      for (int k = 0; k < block.num_actions; ++k) hash = fnv_hash(block.bits + k * kBlockRows + row, 1, hash);
  }
  return hash;
}

/// Few rows, since data may have thousands of shards; whole rows, since outcomes and propensities alone may be those of
/// another day as well.
TrainingShard shard_fingerprint(Dataset& dataset, const Shard& shard, BlockBuffer& buffer) {
  constexpr std::int64_t kRows = 64;
  const int rows = static_cast<int>(std::min(kRows, shard.rows));
  TrainingShard out{shard.rows, kFnvBasis};
  if (rows == 0) return out;
  Audit audit;
  const int kept = dataset.fetch(shard.first_row, rows)->decode(shard.first_row, rows, buffer, audit);
  const Block block = buffer.view(shard.first_row, kept);
  for (int i = 0; i < kept; ++i) {
    const std::uint64_t context = context_hash(block, i);
    out.begins = action_hash(block, i, fnv_hash(&context, sizeof context, out.begins));
    const double loss = std::abs(block.loss[i]);  // see add_rows
    out.begins = fnv_hash(&loss, sizeof loss, out.begins);
  }
  return out;
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

std::vector<TrainingShard> shard_fingerprints(Dataset& dataset) {
  BlockBuffer buffer(dataset.schema());
  std::vector<TrainingShard> out;
  for (const Shard& shard : dataset.shards()) out.push_back(shard_fingerprint(dataset, shard, buffer));
  return out;
}

std::int64_t rows_of_known_shards(Dataset& dataset, std::span<const TrainingShard> known) {
  const auto is_known = [known](const auto& match) { return std::any_of(known.begin(), known.end(), match); };
  BlockBuffer buffer(dataset.schema());
  std::int64_t rows = 0;
  for (const Shard& shard : dataset.shards()) {
    if (!is_known([&](const TrainingShard& one) { return one.rows == shard.rows; })) continue;
    const TrainingShard found = shard_fingerprint(dataset, shard, buffer);
    if (is_known([&](const TrainingShard& one) { return one == found; })) rows += shard.rows;
  }
  return rows;
}

bool begins_like(Dataset& dataset, const TrainingShard& known) {
  if (dataset.shards().empty()) return false;
  BlockBuffer buffer(dataset.schema());
  return shard_fingerprint(dataset, dataset.shards().front(), buffer).begins == known.begins;
}

}  // namespace scrm
