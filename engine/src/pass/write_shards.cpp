#include "scrm/engine/pass/write_shards.hpp"

#include <fmt/format.h>
#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "pass/pool.hpp"
#include "schedule/arena.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/block_buffer.hpp"

namespace scrm {

namespace {

/// Rows that one task makes, when chunks are smaller: enough that a block cut by a border is seldom made twice.
constexpr std::int64_t kTaskRows = 65536;

/// Consecutive whole chunks of one shard.
struct Task {
  std::size_t shard = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::unique_ptr<BlockGroup> group;
  std::vector<EncodedRowsPtr> chunks;
};

using TaskPtr = std::shared_ptr<Task>;

/// Cuts the plan into tasks, in order. A shard without rows is one task without chunks: its file is made all the same.
class TaskSequence {
 public:
  TaskSequence(const std::vector<ShardPlan>& plan, std::int64_t rows_per_task)
      : plan_(plan), rows_per_task_(rows_per_task) {}

  TaskPtr next() {
    if (shard_ == plan_.size()) return nullptr;
    const ShardPlan& shard = plan_[shard_];
    auto task = std::make_shared<Task>();
    task->shard = shard_;
    task->first_row = shard.first_row + done_;
    task->rows = std::min(rows_per_task_, shard.rows - done_);
    done_ += task->rows;
    if (done_ == shard.rows) {
      ++shard_;
      done_ = 0;
    }
    return task;
  }

 private:
  const std::vector<ShardPlan>& plan_;
  std::int64_t rows_per_task_;
  std::size_t shard_ = 0;
  std::int64_t done_ = 0;
};

std::int64_t first_block(const Task& task) {
  return task.first_row / kBlockRows;
}

int block_count(const Task& task) {
  return static_cast<int>((task.first_row + task.rows - 1) / kBlockRows - first_block(task) + 1);
}

/// What the slice of a block needs beyond pointers into it.
struct SliceStorage {
  std::vector<std::int64_t> indptr;  // offsets of a sparse slice, which must begin at zero
  std::vector<const double*> targets;
};

/// Rows [first, first + rows) of a block.
Block slice(const Block& block, int first, int rows, SliceStorage& storage) {
  Block part = block;
  part.first_row += first;
  part.rows = rows;
  if (block.context != nullptr) {
    const std::size_t size = block.context_type == FloatType::f32 ? sizeof(float) : sizeof(double);
    part.context = static_cast<const char*>(block.context) + static_cast<std::size_t>(first) * size;
  }
  if (block.sparse.indptr != nullptr) {
    const std::int64_t begin = block.sparse.indptr[first];
    for (int i = 0; i <= rows; ++i) storage.indptr.push_back(block.sparse.indptr[first + i] - begin);
    part.sparse = {storage.indptr.data(), block.sparse.indices + begin, block.sparse.values + begin};
  }
  for (int t = 0; t < block.num_targets; ++t) storage.targets.push_back(block.targets[t] + first);
  part.targets = storage.targets.data();
  const auto shift = [first](const auto*& column) {
    if (column != nullptr) column += first;
  };
  shift(part.action);
  shift(part.category);
  shift(part.bits);
  shift(part.loss);
  shift(part.propensity);
  shift(part.log_propensity);
  shift(part.label_propensity);
  shift(part.cluster);
  return part;
}

class Encoder {
 public:
  Encoder(const Source& source, const WriteOptions& write)
      : source_(source),
        write_(write),
        chunk_rows_(chunk_rows(source.schema(), write)),
        loaders_([&source] { return source.make_loader(); }),
        buffers_([&source] { return std::make_unique<BlockBuffer>(source.schema()); }) {}

  std::int64_t chunk() const { return chunk_rows_; }

  /// Any thread: makes the task's blocks and encodes its chunks.
  void run(Task& task) {
    const int count = block_count(task);
    // A loader may hold far more than a block, such as the scores of all actions: one for each thread is enough.
    const Pool<BlockLoader>::Lease loader = loaders_.lease();
    std::vector<Pool<BlockBuffer>::Lease> buffers;
    std::vector<Block> blocks;
    Audit audit;
    for (int b = 0; b < count; ++b) {
      const Block block = source_.load(*task.group, first_block(task) + b, *loader, audit);
      buffers.push_back(buffers_.lease());
      buffers.back()->copy_rows(block, 0, block.rows, 0);
      blocks.push_back(buffers.back()->view(block.first_row, block.rows));
    }
    require_no_bad_rows(audit);
    const std::int64_t end = task.first_row + task.rows;
    for (std::int64_t row = task.first_row; row < end; row += chunk_rows_) {
      task.chunks.push_back(encode(blocks, row, std::min(row + chunk_rows_, end)));
    }
    task.group.reset();
  }

 private:
  EncodedRowsPtr encode(const std::vector<Block>& blocks, std::int64_t begin, std::int64_t end) const {
    std::vector<Block> parts;
    std::vector<SliceStorage> storage(blocks.size());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const Block& block = blocks[b];
      const std::int64_t from = std::max(begin, block.first_row);
      const std::int64_t to = std::min(end, block.first_row + block.rows);
      if (from >= to) continue;
      parts.push_back(slice(block, static_cast<int>(from - block.first_row), static_cast<int>(to - from), storage[b]));
    }
    return encode_rows(source_.schema(), write_, parts);
  }

  const Source& source_;
  const WriteOptions& write_;
  std::int64_t chunk_rows_;
  Pool<BlockLoader> loaders_;
  Pool<BlockBuffer> buffers_;
};

/// The serial end of the pipeline: opens, fills and finishes one shard after another.
class Writer {
 public:
  Writer(const Source& source, const std::vector<ShardPlan>& plan, const WriteOptions& write, const Progress& progress)
      : source_(source), plan_(plan), write_(write), progress_(progress) {}

  void write_task(const Task& task) {
    const ShardPlan& shard = plan_[task.shard];
    if (!writer_) writer_ = std::make_unique<ShardWriter>(shard.path, source_.schema(), write_);
    for (const EncodedRowsPtr& chunk : task.chunks) writer_->append(*chunk);
    rows_done_ += task.rows;
    if (progress_) progress_(rows_done_, source_.rows());
    if (task.first_row + task.rows < shard.first_row + shard.rows) return;
    writer_->commit();
    writer_.reset();
  }

 private:
  const Source& source_;
  const std::vector<ShardPlan>& plan_;
  const WriteOptions& write_;
  const Progress& progress_;
  std::unique_ptr<ShardWriter> writer_;
  std::int64_t rows_done_ = 0;
};

/// Bytes a task of that many rows holds: blocks at both borders whole, and every chunk once more in encoded form.
std::size_t task_bytes(const Source& source, std::int64_t rows) {
  const auto blocks = static_cast<std::size_t>(rows / kBlockRows + 2);
  const auto blocks_per_group = static_cast<std::size_t>(source.group_blocks());
  // Only loaders know how many entries a sparse block can have.
  const std::size_t block = source.schema().sparse ? source.loader_bytes() : block_buffer_bytes(source.schema());
  return (blocks + blocks_per_group - 1) / blocks_per_group * source.group_bytes() + 2 * blocks * block;
}

/// How many rows a task takes, how many tasks may be in flight, and on how many threads.
struct TaskSizes {
  std::int64_t rows;
  std::size_t in_flight;
  int threads;
};

std::size_t bytes_in_flight(const Source& source, const TaskSizes& sizes) {
  const auto threads = static_cast<std::size_t>(sizes.threads);
  // A chunk longer than the data never fills.
  return sizes.in_flight * task_bytes(source, std::min(sizes.rows, source.rows())) + threads * source.loader_bytes() +
         (threads - 1) * kThreadBytes;
}

TaskSizes size_tasks(const Source& source, std::int64_t chunk, const PassOptions& options, int threads) {
  for (const std::int64_t rows : {std::max(chunk, kTaskRows / chunk * chunk), chunk}) {
    for (int tasks = 2 * threads; tasks > 0; --tasks) {
      const TaskSizes sizes{rows, static_cast<std::size_t>(tasks), std::min(tasks, threads)};
      if (options.memory == 0 || bytes_in_flight(source, sizes) <= options.memory) return sizes;
    }
  }
  // Rows are made in blocks, however few of them are written at a time.
  const std::int64_t least = std::min<std::int64_t>(chunk, kBlockRows);
  const bool chunks_help = bytes_in_flight(source, {least, 1, 1}) <= options.memory;
  const std::int64_t rows = chunks_help ? chunk : least;
  refuse_memory(bytes_in_flight(source, {rows, 1, 1}), options.memory,
                fmt::format("making and encoding a {} of {} rows", chunks_help ? "chunk" : "block", rows),
                chunks_help              ? "fewer --chunk-rows"
                : source.schema().sparse ? "sparser contexts"
                                         : "fewer features or actions");
}

}  // namespace

std::vector<ShardPlan> plan_shards(const std::string& folder, std::int64_t rows, int shards) {
  std::vector<ShardPlan> plan;
  std::int64_t first = 0;
  for (int s = 0; s < shards; ++s) {
    const std::int64_t here = rows / shards + (s < rows % shards ? 1 : 0);
    plan.push_back({(std::filesystem::path(folder) / fmt::format("part-{:05d}.h5", s)).string(), first, here});
    first += here;
  }
  return plan;
}

void write_shards(Source& source, const std::vector<ShardPlan>& plan, const WriteOptions& write,
                  const PassOptions& options) {
  const int threads = resolve_threads(options.threads);
  Encoder encoder(source, write);
  const TaskSizes sizes = size_tasks(source, encoder.chunk(), options, threads);
  TaskSequence tasks(plan, sizes.rows);
  Writer writer(source, plan, write, options.progress);

  const auto fetch = [&](tbb::flow_control& control) -> TaskPtr {
    TaskPtr task = tasks.next();
    if (!task) {
      control.stop();
    } else if (task->rows > 0) {
      task->group = source.fetch(first_block(*task), block_count(*task));
    }
    return task;
  };
  const auto encode = [&](TaskPtr task) {
    if (task->rows > 0) encoder.run(*task);
    return task;
  };
  in_arena(sizes.threads, [&] {
    tbb::parallel_pipeline(sizes.in_flight,
                           tbb::make_filter<void, TaskPtr>(tbb::filter_mode::serial_in_order, fetch) &
                               tbb::make_filter<TaskPtr, TaskPtr>(tbb::filter_mode::parallel, encode) &
                               tbb::make_filter<TaskPtr, void>(tbb::filter_mode::serial_in_order,
                                                               [&](const TaskPtr& task) { writer.write_task(*task); }));
  });
}

}  // namespace scrm
