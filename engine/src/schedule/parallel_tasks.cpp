#include "scrm/engine/schedule/parallel_tasks.hpp"

#include <tbb/task_group.h>

#include "schedule/arena.hpp"

namespace scrm {

ParallelTasks parallel_tasks(int threads) {
  return [threads](std::size_t count, const std::function<void(std::size_t)>& task) {
    in_arena(threads, [&] {
      tbb::task_group group;
      // This thread takes the first itself and at once; the others are stolen in the order they came in.
      for (std::size_t i = 1; i < count; ++i) group.run([&task, i] { task(i); });
      if (count > 0) task(0);
      group.wait();
    });
  };
}

}  // namespace scrm
