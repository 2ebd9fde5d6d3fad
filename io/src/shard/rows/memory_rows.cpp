#include "shard/rows/memory_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "scrm/io/file/spelling.hpp"

namespace scrm {

std::int64_t MemoryArray::width() const noexcept {
  return std::accumulate(tiles.begin(), tiles.end(), std::int64_t{0},
                         [](std::int64_t sum, const MemoryTile& tile) { return sum + tile.columns; });
}

const MemoryArray* find_array(std::span<const MemoryArray> arrays, const std::string& name) noexcept {
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const MemoryArray& a) { return a.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

const MemoryArray* MemoryShard::find(const std::string& name) const noexcept {
  return find_array(arrays, name);
}

namespace {

/// Bytes that belong to somebody else and stay where they are.
class BorrowedBytes final : public RawBytes {
 public:
  explicit BorrowedBytes(const std::byte* data) : data_(data) {}
  const std::byte* data_at(std::size_t from, std::size_t, ReadBuffer&) override { return data_ + from; }
  const std::byte* data_at(std::size_t from, std::size_t, std::byte*) override { return data_ + from; }

 private:
  const std::byte* data_;
};

[[noreturn]] void fail(const std::string& dataset, const std::string& message) {
  throw Error(ErrorKind::data, message, {.dataset = dataset});
}

bool holds_floats(const MemoryArray& array) {
  return std::any_of(array.tiles.begin(), array.tiles.end(),
                     [](const MemoryTile& tile) { return is_float(tile.element); });
}

/// The names that follow `prefix` in the names of arrays, up to the next slash, in name order.
std::set<std::string> members(std::span<const MemoryArray> arrays, const std::string& prefix) {
  std::set<std::string> names;
  for (const MemoryArray& array : arrays) {
    if (!array.name.starts_with(prefix)) continue;
    const std::string rest = array.name.substr(prefix.size());
    names.insert(rest.substr(0, rest.find('/')));
  }
  return names;
}

class HeaderCheck {
 public:
  HeaderCheck(const MemoryShard& shard, const ReadOptions& options) : shard_(shard), options_(options) {}

  ShardHeader read() {
    header_.action_kind = shard_.action_kind;
    header_.num_actions = shard_.num_actions;
    header_.rollout = shard_.rollout;
    header_.outcome = shard_.outcome;
    if (options_.contexts_only) {
      count_contexts();
    } else {
      header_.rows = list("loss").rows;
      check_action();
      check_propensities();
    }
    check_context();
    if (!options_.contexts_only) {
      check_targets();
      check_models();
      check_cluster();
    }
    header_.context_columns = names("context_columns", shard_.context_columns, header_.features, "feature");
    if (!options_.contexts_only && header_.action_kind != ActionKind::continuous)
      header_.action_names = names("action_names", shard_.action_names, header_.num_actions, "action");
    return std::move(header_);
  }

 private:
  const MemoryArray& array(const std::string& name) const {
    const MemoryArray* found = shard_.find(name);
    if (found == nullptr) fail(name, "is missing");
    return *found;
  }
  /// With as many rows as there are losses.
  const MemoryArray& table(const std::string& name) const {
    const MemoryArray& found = array(name);
    if (found.rows != header_.rows)
      fail(name, fmt::format("has {}, but loss has {}", count_of(found.rows, "row"), header_.rows));
    return found;
  }
  const MemoryArray& list(const std::string& name) const {
    const MemoryArray& found = name == "loss" ? array(name) : table(name);
    if (found.width() != 1) fail(name, fmt::format("must have one column, it has {}", found.width()));
    return found;
  }

  void count_contexts() {
    if (const MemoryArray* indptr = shard_.find("context/indptr")) {
      header_.rows = std::max<std::int64_t>(0, indptr->rows - 1);
    } else {
      header_.rows = array("context").rows;
    }
  }

  void check_action() {
    if (header_.action_kind == ActionKind::continuous) return static_cast<void>(list("action"));
    const bool multilabel = header_.action_kind == ActionKind::multilabel;
    const MemoryArray& action = multilabel ? table("action") : list("action");
    if (holds_floats(action))
      fail("action", fmt::format("holds real numbers, {} actions are integers", to_string(header_.action_kind)));
    if (!multilabel && header_.num_actions < 1) fail("action", "does not say how many actions there are: num_actions");
    if (!multilabel) return;
    if (action.rank != 2 || action.width() < 1) fail("action", "must have two dimensions, rows and labels");
    header_.num_actions = static_cast<int>(action.width());
  }

  void check_propensities() {
    header_.has_propensity = shard_.find("propensity") != nullptr;
    header_.has_log_propensity = shard_.find("log_propensity") != nullptr;
    header_.has_label_propensity =
        header_.action_kind == ActionKind::multilabel && shard_.find("label_propensity") != nullptr;
    if (header_.has_log_propensity && header_.has_propensity)
      fail("log_propensity", "there is propensity too: leave one of them out");
    if (header_.has_propensity) list("propensity");
    if (header_.has_log_propensity) list("log_propensity");
    if (header_.has_label_propensity && table("label_propensity").width() != header_.num_actions) {
      fail("label_propensity", fmt::format("has {}, but action has {}",
                                           count_of(array("label_propensity").width(), "column"), header_.num_actions));
    }
    if (!header_.has_propensity && !header_.has_log_propensity && !header_.has_label_propensity)
      fail("propensity", "is missing, and so is log_propensity");
  }

  void check_context() {
    if (shard_.find("context/indptr") != nullptr) return check_sparse_context();
    if (shard_.find("context") == nullptr) return;
    const MemoryArray& context = table("context");
    if (context.rank != 2) fail("context", "must have two dimensions, rows and features");
    header_.features = context.width();
    const bool all_f32 = std::all_of(context.tiles.begin(), context.tiles.end(),
                                     [](const MemoryTile& tile) { return tile.element == Element::f32; });
    header_.context_type = all_f32 && header_.features > 0 ? FloatType::f32 : FloatType::f64;
  }

  void check_sparse_context();

  void check_targets() {
    const std::set<std::string> there = members(shard_.arrays, "target/");
    header_.targets.assign(there.begin(), there.end());
    for (const std::string& name : options_.all_targets ? header_.targets : options_.targets) {
      if (!there.contains(name))
        fail("target/" + name, there.empty() ? "is missing, and there is no other target"
                                             : fmt::format("is missing; there are {}", fmt::join(there, ", ")));
      list("target/" + name);
    }
  }

  void check_models() {
    const std::set<std::string> there = members(shard_.arrays, "model/");
    if (!options_.model.empty() && !there.contains(options_.model))
      fail("model/" + options_.model, there.empty() ? "is missing, and there is no other model"
                                                    : fmt::format("is missing; there are {}", fmt::join(there, ", ")));
    for (const std::string& name : there) {
      const std::string group = "model/" + name;
      const std::set<std::string> targets = members(shard_.arrays, group + "/target/");
      header_.models.push_back({name, {targets.begin(), targets.end()}});
      list(group + "/logged");
      for (const std::string& target : targets) list(group + "/target/" + target);
    }
  }

  void check_cluster() {
    header_.has_cluster = options_.cluster && shard_.find("cluster") != nullptr;
    if (header_.has_cluster && holds_floats(list("cluster")))
      fail("cluster", "holds real numbers, clusters are integers");
  }

  static std::vector<std::string> names(const std::string& what, const std::vector<std::string>& given,
                                        std::int64_t count, const char* thing) {
    if (given.empty()) return given;
    if (static_cast<std::int64_t>(given.size()) != count) {
      fail(what, fmt::format("has {} for {}", count_of(static_cast<std::int64_t>(given.size()), "name"),
                             count_of(count, thing)));
    }
    std::set<std::string_view> known;
    for (const std::string& name : given) {
      if (!known.insert(name).second) fail(what, fmt::format("has the name '{}' twice", name));
    }
    return given;
  }

  const MemoryShard& shard_;
  const ReadOptions& options_;
  ShardHeader header_;
};

std::int64_t offset_at(const MemoryArray& indptr, std::int64_t row) {
  const MemoryTile& tile = indptr.tiles.front();
  return visit_element(tile.element, [&](auto value) {
    std::memcpy(&value, tile.data + static_cast<std::size_t>(row) * tile.row_bytes, sizeof value);
    return static_cast<std::int64_t>(value);
  });
}

void HeaderCheck::check_sparse_context() {
  header_.sparse = true;
  header_.features = shard_.sparse_features;
  const MemoryArray& indptr = array("context/indptr");
  const std::int64_t entries = array("context/indices").rows;
  if (indptr.rows != header_.rows + 1)
    fail("context", fmt::format("has {}, but loss has {}", count_of(indptr.rows - 1, "row"), header_.rows));
  for (const char* name : {"context/indptr", "context/indices"}) {
    if (holds_floats(array(name))) fail(name, "holds real numbers, integers are needed");
  }
  if (array("context/values").rows != entries)
    fail("context/values",
         fmt::format("has {} entries, but there are {} indices", array("context/values").rows, entries));
  std::int64_t before = 0;
  for (std::int64_t row = 0; row <= header_.rows; ++row) {
    const std::int64_t offset = offset_at(indptr, row);
    if (offset < before || offset > entries) fail("context/indptr", "falls, or points past the last entry");
    before = offset;
    if (row % kBlockRows == 0 || row == header_.rows) header_.entries_before.push_back(offset);
  }
  // The entries of decoded blocks: index and value.
  header_.entry_cost.per_row = sizeof(std::int32_t) + sizeof(double);
  header_.entry_cost.total = static_cast<double>(entries) * header_.entry_cost.per_row;
}

/// Rows [first, first + rows) of all tiles; they are called rows [row, row + rows).
RawArray borrow(const MemoryArray& array, std::int64_t first, std::int64_t rows, std::int64_t row) {
  RawArray raw;
  std::int64_t column = 0;
  for (const MemoryTile& tile : array.tiles) {
    raw.tiles.push_back({.row = row,
                         .rows = rows,
                         .column = column,
                         .columns = tile.columns,
                         .row_bytes = tile.row_bytes,
                         .offset = static_cast<std::size_t>(first) * tile.row_bytes,
                         .bytes = std::make_shared<BorrowedBytes>(tile.data),
                         .element = tile.element});
    column += tile.columns;
  }
  return raw;
}

}  // namespace

ShardHeader memory_header(const MemoryShard& shard, const ReadOptions& options) {
  return HeaderCheck(shard, options).read();
}

ReadOptions leave_to_files(ReadOptions options, std::span<const MemoryArray> beside) {
  std::erase_if(options.targets,
                [&](const std::string& name) { return find_array(beside, "target/" + name) != nullptr; });
  if (find_array(beside, "model/" + options.model + "/logged") != nullptr) options.model.clear();
  return options;
}

void add_beside(const ReadOptions& options, std::span<const MemoryArray> beside, ShardHeader& header) {
  const std::string model = "model/" + options.model;
  if (find_array(beside, model + "/logged") == nullptr) return;
  const std::set<std::string> targets = members(beside, model + "/target/");
  header.models.push_back({options.model, {targets.begin(), targets.end()}});
}

void require_rows(std::span<const MemoryArray> beside, std::int64_t rows) {
  for (const MemoryArray& array : beside) {
    if (array.width() != 1) fail(array.name, fmt::format("must have one column, it has {}", array.width()));
    if (array.rows != rows)
      fail(array.name, fmt::format("has {}, but the data set has {}", count_of(array.rows, "row"), rows));
  }
}

void add_beside(std::span<const MemoryArray> beside, const Schema& schema, std::int64_t first, ShardSlice& slice) {
  const std::vector<std::string> outside = outside_datasets(schema);
  for (std::size_t i = 0; i < outside.size(); ++i) {
    if (const MemoryArray* array = find_array(beside, outside[i]))
      slice.arrays[kOutside + i] = borrow(*array, first, slice.rows, slice.row_in_file);
  }
}

ShardSlice memory_slice(const MemoryShard& shard, const Schema& schema, std::int64_t first, std::int64_t rows) {
  static const auto kNoPath = std::make_shared<const std::string>();
  ShardSlice slice;
  slice.path = kNoPath;
  slice.row_in_file = first;
  slice.rows = rows;
  const std::vector<std::string> outside = outside_datasets(schema);
  slice.arrays.resize(kOutside + outside.size());
  const auto take = [&](std::size_t dataset, const std::string& name, std::int64_t from, std::int64_t count) {
    slice.arrays[dataset] = borrow(*shard.find(name), from, count, from);
  };
  if (schema.sparse) {
    const MemoryArray& indptr = *shard.find("context/indptr");
    for (std::int64_t row = first; row <= first + rows; ++row) slice.offsets.push_back(offset_at(indptr, row));
    const std::int64_t entries = slice.offsets.back() - slice.offsets.front();
    take(kIndices, "context/indices", slice.offsets.front(), entries);
    take(kValues, "context/values", slice.offsets.front(), entries);
  } else if (schema.features > 0) {
    take(kContext, "context", first, rows);
  }
  if (schema.stage == RowStage::contexts) return slice;
  take(kAction, "action", first, rows);
  take(kLoss, "loss", first, rows);
  if (schema.propensity != PropensityForm::label_product)
    take(kPropensity, schema.propensity == PropensityForm::linear ? "propensity" : "log_propensity", first, rows);
  if (schema.label_propensity) take(kLabelPropensity, "label_propensity", first, rows);
  if (schema.cluster) take(kCluster, "cluster", first, rows);
  for (std::size_t i = 0; i < outside.size(); ++i) take(kOutside + i, outside[i], first, rows);
  return slice;
}

}  // namespace scrm
