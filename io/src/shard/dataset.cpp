#include "scrm/io/shard/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <iterator>
#include <limits>
#include <list>
#include <set>
#include <utility>

#include "file/descriptor.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "shard/column_order.hpp"
#include "shard/memory_bound.hpp"
#include "shard/open_shard.hpp"
#include "shard/rows/memory_rows.hpp"
#include "shard/rows/shard_rows.hpp"
#include "shard/schema_builder.hpp"
#include "shard/shard_header.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

// Of so many shards it is remembered where everything is, for a few megabytes; it is asked for again of those beyond.
constexpr std::size_t kRememberedShards = 4096;

/// The `.h5` files of a directory in name order; the path itself when it is a file.
std::vector<std::string> shard_paths(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (!fs::exists(path, error)) throw Error(ErrorKind::file, "there is no such file or directory", {.file = path});
    return {path};
  }
  std::vector<std::string> found;
  fs::directory_iterator entries(path, error);
  if (error) throw Error(ErrorKind::file, "cannot be listed: " + error.message(), {.file = path});
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    // Hidden names are files that are still being written.
    if (name.front() != '.' && entry.path().extension() == ".h5") found.push_back(entry.path().string());
  }
  if (found.empty()) throw Error(ErrorKind::data, "holds no .h5 files", {.file = path});
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

/// What is kept of a shard besides what callers see.
struct ShardMemory {
  MemoryCost cost;
  MemoryCost entry_cost;
  std::vector<std::int64_t> entries_before;
  std::int64_t chunk_rows = 0;
  std::shared_ptr<const ColumnOrder> order;
  std::int64_t row_beside = 0;  ///< its first row in the columns beside the files
};

struct Dataset::Impl {
  ReadOptions options;
  std::shared_ptr<const Schema> schema;
  std::vector<Shard> shards;
  std::vector<ShardMemory> memory;  ///< one for each shard
  std::deque<Hdf5File> files;       ///< one for each shard, or none where all are
  std::deque<MemoryShard> arrays;   ///< in memory
  std::vector<MemoryArray> beside;  ///< columns in memory, of all rows that the files have
  std::int64_t rows = 0;
  std::int64_t chunk_rows = 0;
  MemoryBound row_bound;
  MemoryBound entry_bound;
  std::shared_ptr<BufferPool> pool = std::make_shared<BufferPool>();
  std::list<std::pair<std::size_t, OpenShard>> open;  ///< most recently used first; of `files`
  std::size_t most_open = files_kept_open();          ///< so that data sets of a few shards stay open over many passes

  void add(Shard shard, ShardMemory shard_memory);
  void add(Hdf5File file);
  ShardSlice fetch(std::size_t shard, std::int64_t first, std::int64_t count);
  void bound_entries(const ShardMemory& shard_memory, std::int64_t shard_rows);
  OpenShard& open_shard(std::size_t index);
};

void Dataset::Impl::add(Shard shard, ShardMemory shard_memory) {
  shard.first_row = rows;
  rows += shard.rows;
  chunk_rows = std::max(chunk_rows, shard_memory.chunk_rows);
  row_bound.add(shard.rows, shard_memory.cost);
  if (!shard_memory.entries_before.empty()) bound_entries(shard_memory, shard.rows);
  shards.push_back(std::move(shard));
  memory.push_back(std::move(shard_memory));
}

void Dataset::Impl::add(Hdf5File file) {
  files.push_back(std::move(file));
  if (files.size() > most_open) files.back().release();
  if (files.size() > kRememberedShards) files.back().forget_arrays();
}

/// Entries are not spread evenly over rows: each kBlockRows rows make a segment with its own count.
void Dataset::Impl::bound_entries(const ShardMemory& shard_memory, std::int64_t shard_rows) {
  const std::vector<std::int64_t>& before = shard_memory.entries_before;
  // Chunks at the ends of a range reach beyond it, once for the shard.
  entry_bound.add(0, {shard_memory.entry_cost.fixed, 0, shard_memory.entry_cost.fixed});
  for (std::size_t i = 0; i + 1 < before.size(); ++i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * kBlockRows;
    const double entries = static_cast<double>(before[i + 1] - before[i]);
    const double bytes = entries * shard_memory.entry_cost.per_row;
    entry_bound.add(std::min<std::int64_t>(kBlockRows, shard_rows - first), {bytes, 0, bytes});
  }
}

OpenShard& Dataset::Impl::open_shard(std::size_t index) {
  const auto found = std::find_if(open.begin(), open.end(), [&](const auto& entry) { return entry.first == index; });
  if (found != open.end()) {
    open.splice(open.begin(), open, found);
  } else {
    if (open.size() >= most_open) {
      const std::size_t oldest = open.back().first;
      open.pop_back();
      if (oldest >= kRememberedShards) files[oldest].forget_arrays();
    }
    open.emplace_front(std::piecewise_construct, std::forward_as_tuple(index),
                       std::forward_as_tuple(files[index], *schema, shards[index].rows, beside));
  }
  return open.front().second;
}

ShardSlice Dataset::Impl::fetch(std::size_t shard, std::int64_t first, std::int64_t count) {
  if (!arrays.empty()) return memory_slice(arrays[shard], *schema, first, count);
  ShardSlice slice = open_shard(shard).fetch(first, count);
  if (!beside.empty()) add_beside(beside, *schema, memory[shard].row_beside + first, slice);
  return slice;
}

Dataset::Dataset(const std::vector<std::string>& paths, const ReadOptions& options) : Dataset(paths, options, {}) {}

Dataset::Dataset(const std::vector<std::string>& paths, const ReadOptions& options, std::vector<MemoryArray> beside)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  impl_->beside = std::move(beside);
  if (paths.empty()) throw Error(ErrorKind::usage, "a data set needs at least one file or directory");
  std::vector<std::string> file_paths;
  for (const std::string& path : paths) {
    std::vector<std::string> found = shard_paths(path);
    std::move(found.begin(), found.end(), std::back_inserter(file_paths));
  }
  require_distinct(file_paths);
  SchemaBuilder builder(options);
  const ReadOptions of_files = leave_to_files(options, impl_->beside);
  for (const std::string& file_path : file_paths) {
    Hdf5File file(file_path, impl_->pool);
    ShardHeader header = read_shard_header(file, of_files);
    add_beside(options, impl_->beside, header);
    std::shared_ptr<const ColumnOrder> order = builder.add(file_path, header);
    const std::int64_t bytes = file.bytes();
    impl_->add({.path = file_path, .rows = header.rows, .rollout = header.rollout, .bytes = bytes},
               {header.cost, header.entry_cost, std::move(header.entries_before), header.chunk_rows, std::move(order),
                impl_->rows});
    impl_->add(std::move(file));
  }
  require_rows(impl_->beside, impl_->rows);
  impl_->schema = std::make_shared<const Schema>(builder.schema());
}

Dataset::Dataset(std::vector<MemoryShard> shards, const ReadOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  if (shards.empty()) throw Error(ErrorKind::usage, "a data set needs at least one set of arrays");
  SchemaBuilder builder(options);
  for (MemoryShard& shard : shards) {
    ShardHeader header = memory_header(shard, options);
    std::shared_ptr<const ColumnOrder> order = builder.add(fmt::format("arrays {}", impl_->shards.size() + 1), header);
    impl_->add({.path = "", .rows = header.rows, .rollout = header.rollout},
               {header.cost, header.entry_cost, std::move(header.entries_before), 0, std::move(order), 0});
    impl_->arrays.push_back(std::move(shard));
  }
  impl_->schema = std::make_shared<const Schema>(builder.schema());
}

Dataset::Dataset(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Dataset::~Dataset() = default;
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;

const Schema& Dataset::schema() const noexcept {
  return *impl_->schema;
}

std::int64_t Dataset::rows() const noexcept {
  return impl_->rows;
}

const std::vector<Shard>& Dataset::shards() const noexcept {
  return impl_->shards;
}

std::int64_t Dataset::chunk_rows() const noexcept {
  return impl_->chunk_rows;
}

std::vector<int> Dataset::rollouts() const {
  std::set<int> numbers;
  for (const Shard& shard : impl_->shards) numbers.insert(shard.rollout);
  return {numbers.begin(), numbers.end()};
}

Dataset Dataset::rollout(int number) const {
  auto part = std::make_unique<Impl>();
  part->options = impl_->options;
  part->schema = impl_->schema;
  part->beside = impl_->beside;
  for (std::size_t i = 0; i < impl_->shards.size(); ++i) {
    if (impl_->shards[i].rollout != number) continue;
    part->add(impl_->shards[i], impl_->memory[i]);
    if (impl_->arrays.empty()) part->add(impl_->files[i]);
    if (!impl_->arrays.empty()) part->arrays.push_back(impl_->arrays[i]);
  }
  return Dataset(std::move(part));
}

std::unique_ptr<RawRows> Dataset::fetch(std::int64_t first_row, std::int64_t rows) {
  if (first_row < 0 || rows < 0 || first_row > impl_->rows || rows > impl_->rows - first_row) {
    throw Error(ErrorKind::usage, fmt::format("rows {} to {} were asked for, the data set has {}", first_row,
                                              first_row + rows - 1, impl_->rows));
  }
  auto fetched = std::make_unique<ShardRows>(impl_->schema);
  fetched->first_row = first_row;
  fetched->rows = rows;
  const std::int64_t end = first_row + rows;
  const std::vector<Shard>& shards = impl_->shards;
  auto shard = std::partition_point(shards.begin(), shards.end(),
                                    [&](const Shard& s) { return s.first_row + s.rows <= first_row; });
  for (; shard != shards.end() && shard->first_row < end; ++shard) {
    const std::int64_t from = std::max(first_row, shard->first_row);
    const std::int64_t to = std::min(end, shard->first_row + shard->rows);
    if (from == to) continue;
    const auto index = static_cast<std::size_t>(shard - shards.begin());
    ShardSlice slice = impl_->fetch(index, from - shard->first_row, to - from);
    slice.first_row = from;
    slice.order = impl_->memory[index].order;
    fetched->add(std::move(slice));
  }
  return fetched;
}

std::size_t Dataset::fetch_bytes(std::int64_t rows) const noexcept {
  rows = std::min(rows, impl_->rows);
  return static_cast<std::size_t>(std::ceil(impl_->row_bound(rows) + impl_->entry_bound(rows)));
}

}  // namespace scrm
