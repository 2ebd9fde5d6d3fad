/// The fingerprint of a data set, taken within the memory of a task.
#pragma once

#include <cstdint>

#include "scrm/io/shard/dataset.hpp"
#include "task/task_options.hpp"

namespace scrm {

/// fingerprint() of the data. It reads a block, which an Error of kind memory refuses where there is no room for one.
std::uint64_t data_fingerprint(Dataset& dataset, const TaskOptions& task);

}  // namespace scrm
