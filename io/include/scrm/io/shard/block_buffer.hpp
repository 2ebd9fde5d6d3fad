/// BlockBuffer: owns the columns of one block, reusable without allocation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scrm/io/file/read_buffer.hpp"
#include "scrm/io/shard/schema.hpp"
#include "scrm/kernels/block.hpp"
#include "scrm/kernels/scores/context_matrix.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"

namespace scrm {

/// Columns for up to kBlockRows rows of a schema, each aligned and kBlockRows long. Everything is allocated (and set to
/// zero) once; only sparse contexts grow when a block has more entries than any before it.
class BlockBuffer {
 public:
  explicit BlockBuffer(const Schema& schema);

  const Schema& schema() const noexcept { return schema_; }

  // Writable columns; column j of a two-dimensional quantity starts j * kBlockRows further on (of a dense context,
  // j * context_stride()).
  std::int64_t context_stride() const noexcept { return scrm::context_stride(schema_.replays); }
  float* context_f32() noexcept { return context_f32_.get(); }
  double* context_f64() noexcept { return context_f64_.get(); }
  std::int64_t* indptr() noexcept { return indptr_.data(); }
  std::vector<std::int32_t>& indices() noexcept { return indices_; }
  std::vector<double>& values() noexcept { return values_; }
  double* action() noexcept { return action_.get(); }
  std::int32_t* category() noexcept { return category_.get(); }
  std::uint8_t* bits() noexcept { return bits_.get(); }
  double* loss() noexcept { return loss_.get(); }
  /// `propensity` when the schema's form is linear, `log_propensity` otherwise.
  double* propensity() noexcept { return propensity_.get(); }
  double* label_propensity() noexcept { return label_propensity_.get(); }
  double* target(int index) noexcept { return targets_[static_cast<std::size_t>(index)].get(); }
  double* model_logged() noexcept { return model_logged_.get(); }
  /// Null where the model leaves the target out.
  double* model_target(int index) noexcept { return model_targets_[static_cast<std::size_t>(index)].get(); }
  std::int64_t* cluster() noexcept { return cluster_.get(); }

  /// What the rows of each dataset are read into before they become columns; empty until files are read.
  std::vector<ReadBuffer>& read_buffers() noexcept { return read_buffers_; }

  /// Lets decode leave things where they lie when a block's rows are all there and follow each other: a dense context
  /// row by row, in view().context_by_row, and lists of doubles. Where the context is left so, neither it nor these
  /// lists are audited: for reductions that find bad values in them.
  void allow_in_place(bool allowed = true);

  /// What is read where it lies rather than from the columns above, where it is not null.
  struct InPlace {
    const std::byte* context_by_row = nullptr;
    const double* action = nullptr;
    const double* loss = nullptr;
    const double* propensity = nullptr;
    std::vector<const double*> targets;
  };
  /// Null where nothing may be left in place.
  InPlace* in_place() noexcept { return in_place_.get(); }
  /// Forgets what was left in place.
  void leave_nothing_in_place() noexcept;
  /// The memory of the columns of a dense context as room for its rows, and for a page more.
  std::byte* context_rows() noexcept;
  /// Where rows have been in it, zeroes it: columns that a block with fewer rows does not fill would end in what are no
  /// numbers.
  void clear_context_rows() noexcept;
  /// Copies the lists that were left in place to the columns above.
  void copy_lists() noexcept;

  /// The view of the first `rows` rows; valid until the buffer changes.
  Block view(std::int64_t first_row, int rows) noexcept;

  /// Copies rows [begin, begin + count) of a block of the same schema to row `at`; begin, count and at are multiples of
  /// schema().replays, and sparse rows before `at` must be there already.
  void copy_rows(const Block& from, int begin, int count, int at);

  /// Drops the rows whose keep flag is 0 and closes the gaps; returns how many rows are left. Not for replayed rows.
  int compact(const std::uint8_t* keep, int rows) noexcept;

  /// Bytes this buffer holds.
  std::size_t bytes() const noexcept;

 private:
  Schema schema_;
  AlignedArray<float> context_f32_;
  AlignedArray<double> context_f64_;
  std::vector<std::int64_t> indptr_;
  std::vector<std::int32_t> indices_;
  std::vector<double> values_;
  AlignedArray<double> action_;
  AlignedArray<std::int32_t> category_;
  AlignedArray<std::uint8_t> bits_;
  AlignedArray<double> loss_;
  AlignedArray<double> propensity_;
  AlignedArray<double> label_propensity_;
  std::vector<AlignedArray<double>> targets_;
  std::vector<const double*> target_views_;
  AlignedArray<double> model_logged_;
  std::vector<AlignedArray<double>> model_targets_;
  std::vector<const double*> model_views_;
  AlignedArray<std::int64_t> cluster_;
  std::vector<ReadBuffer> read_buffers_;
  std::unique_ptr<InPlace> in_place_;
  bool has_context_rows_ = false;
};

/// Bytes a BlockBuffer of this schema holds; for sparse contexts, without their entries.
std::size_t block_buffer_bytes(const Schema& schema) noexcept;

}  // namespace scrm
