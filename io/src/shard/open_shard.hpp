/// OpenShard: the datasets of one shard that a schema needs, open for fetching.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/stored_array.hpp"
#include "hdf5/hdf5_file.hpp"
#include "scrm/io/shard/memory_shard.hpp"
#include "scrm/io/shard/schema.hpp"
#include "shard/rows/shard_rows.hpp"

namespace scrm {

class OpenShard {
 public:
  /// Throws when the file is no longer what it was when its header was read: `rows` rows of this schema. The file must
  /// outlive it; its descriptor is closed with it. Columns that lie beside the file are not looked for in it.
  OpenShard(Hdf5File& file, const Schema& schema, std::int64_t rows, std::span<const MemoryArray> beside);
  ~OpenShard() { file_.release(); }
  OpenShard(const OpenShard&) = delete;
  OpenShard& operator=(const OpenShard&) = delete;

  /// Takes rows [first, first + rows) of the file; the caller sets the slice's place in the data set, and adds what
  /// lies beside the file.
  ShardSlice fetch(std::int64_t first, std::int64_t rows);

 private:
  StoredArray open(const std::string& name, std::int64_t rows, std::int64_t width) const;

  Hdf5File& file_;
  std::optional<StoredArray> context_;
  std::optional<StoredArray> indptr_;
  std::optional<StoredArray> indices_;
  std::optional<StoredArray> values_;
  std::optional<StoredArray> action_;
  std::optional<StoredArray> loss_;
  std::optional<StoredArray> propensity_;
  std::optional<StoredArray> label_propensity_;
  std::vector<std::optional<StoredArray>> outside_;  // of outside_datasets(); none where it lies beside the file
  std::optional<StoredArray> cluster_;
};

}  // namespace scrm
