/// NumPy arrays as columns of logged rows, and shards or arrays as one data set.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <vector>

#include "scrm/io/shard/dataset.hpp"
#include "scrm/io/shard/memory_shard.hpp"

namespace scrm::python {

/// Where the rows are: {"paths": [...], "reward": bool, "beside": {...}}, the last being columns that the files do not
/// have, or {"shards": [{"action_kind", "arrays": {...}, ...}]}.
struct Rows {
  explicit Rows(const pybind11::dict& rows);

  Dataset open(ReadOptions options) const;

  std::vector<std::string> paths;
  bool reward = false;
  std::vector<MemoryArray> beside;
  std::vector<MemoryShard> shards;
};

}  // namespace scrm::python
