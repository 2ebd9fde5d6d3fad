/// MemoryShard: logged rows that lie in somebody else's arrays, read where they are as if they were a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scrm/io/shard/schema.hpp"

namespace scrm {

/// The number types that are decoded block by block; in io/src/array/element.hpp.
enum class Element : std::uint8_t;

/// Numbers of one type: `columns` neighbours in each row, rows `row_bytes` apart (0: all rows are the same). At any
/// address, in the machine's own byte order.
struct MemoryTile {
  Element element{};
  const std::byte* data = nullptr;
  std::size_t row_bytes = 0;
  std::int64_t columns = 1;
};

/// One dataset: its tiles stand side by side, each with all rows.
struct MemoryArray {
  std::string name;  ///< as a shard's dataset: "context", "action", "target/new", "model/mine/logged"
  std::int64_t rows = 0;
  int rank = 1;
  std::vector<MemoryTile> tiles;

  std::int64_t width() const noexcept;
};

/// What a shard's attributes say, and its datasets. The arrays must outlive every data set made of it, and must not
/// change while it is read. A sparse context is "context/indptr", "context/indices" and "context/values".
struct MemoryShard {
  ActionKind action_kind = ActionKind::continuous;
  int num_actions = 0;  ///< categorical; multilabel: as many as `action` has columns
  int rollout = 0;
  std::optional<Outcome> outcome;
  std::vector<std::string> context_columns, action_names;
  std::int64_t sparse_features = 0;
  std::vector<MemoryArray> arrays;

  /// Null where there is none.
  const MemoryArray* find(const std::string& name) const noexcept;
};

}  // namespace scrm
