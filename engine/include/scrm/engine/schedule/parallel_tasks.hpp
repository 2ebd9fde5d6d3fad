/// parallel_tasks: independent pieces of work on several threads, for whoever has no threads of its own.
#pragma once

#include <cstddef>
#include <functional>

namespace scrm {

/// Runs task(0) … task(count − 1) and returns when all are done.
using ParallelTasks = std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)>;

/// On so many threads; 0: all cores.
ParallelTasks parallel_tasks(int threads);

}  // namespace scrm
