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

}  // namespace

std::uint64_t fingerprint(Dataset& dataset) {
  const auto rows = static_cast<int>(std::min<std::int64_t>(dataset.rows(), kBlockRows));
  if (rows == 0) return kFnvBasis;
  BlockBuffer buffer(dataset.schema());
  return add_rows(dataset, 0, rows, buffer, kFnvBasis);
}

RowFingerprints::RowFingerprints(Dataset& dataset) : dataset_(dataset) {}

std::uint64_t RowFingerprints::of(std::int64_t first, std::int64_t rows) {
  rows = std::min({rows, kRows, dataset_.rows() - first});
  if (rows <= 0) return kFnvBasis;
  const auto [entry, is_new] = known_.try_emplace({first, rows}, kFnvBasis);
  if (!is_new) return entry->second;
  Audit audit;  // bad rows are left out, and reported by the pass that uses the data
  const int kept = dataset_.fetch(first, rows)->decode(first, static_cast<int>(rows), buffer(), audit);
  const Block block = buffer_->view(first, kept);
  std::uint64_t& hash = entry->second;
  for (int i = 0; i < kept; ++i) {
    const std::uint64_t context = context_hash(block, i);
    hash = action_hash(block, i, fnv_hash(&context, sizeof context, hash));
    const double loss = std::abs(block.loss[i]);  // see add_rows
    hash = fnv_hash(&loss, sizeof loss, hash);
  }
  return hash;
}

std::uint64_t RowFingerprints::sample() {
  if (sample_) return *sample_;
  constexpr std::int64_t kPlaces = 64;
  const std::int64_t last = dataset_.rows() - 1;
  std::uint64_t hash = kFnvBasis;
  // In double precision: rows times places may be more than integers hold.
  for (std::int64_t place = 0; place < std::min(kPlaces, last + 1); ++place) {
    const double share = static_cast<double>(place) / static_cast<double>(kPlaces - 1);
    const auto row = last < kPlaces ? place : static_cast<std::int64_t>(share * static_cast<double>(last));
    hash = add_rows(dataset_, row, 1, buffer(), hash);
  }
  sample_ = hash;
  return hash;
}

BlockBuffer& RowFingerprints::buffer() {
  if (!buffer_) buffer_.emplace(dataset_.schema());
  return *buffer_;
}

std::vector<TrainingShard> RowFingerprints::of_shards() {
  std::vector<TrainingShard> out;
  for (const Shard& shard : dataset_.shards()) out.push_back({shard.rows, of(shard.first_row, shard.rows)});
  return out;
}

}  // namespace scrm
