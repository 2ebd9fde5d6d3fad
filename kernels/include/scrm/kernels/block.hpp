/// Block: a non-owning, column-major view of a fixed number of logged rows, which every kernel works on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scrm {

enum class ActionKind : std::uint8_t { continuous, categorical, multilabel };

enum class FloatType : std::uint8_t { f32, f64 };

/// Rows in a block. Every result is a merge of per-block sums, so this number is part of the bits of every result:
/// changing it changes the last digits of everything. 2,048 doubles keep a weight buffer and its losses inside L1.
inline constexpr int kBlockRows = 2048;

/// Every column of a block begins at a multiple of this many bytes, but for lists of doubles that are read in place.
inline constexpr std::size_t kColumnAlignment = 64;

/// Sparse contexts in compressed rows: row i has entries [indptr[i], indptr[i + 1]) of `indices` and `values`.
/// indptr[0] is 0: offsets count from the block's own first entry.
struct SparseContext {
  const std::int64_t* indptr = nullptr;
  const std::int32_t* indices = nullptr;
  const double* values = nullptr;
};

/// A view of up to kBlockRows rows. Column j of a two-dimensional quantity starts at base + j * kBlockRows, so that a
/// column can always be read in whole vectors: rows past `rows` hold finite values that mean nothing.
/// Lists of doubles (action, loss, propensities, targets, predictions) of a block with all its rows may be parts of
/// somebody's arrays, for reductions that ask for it, and then begin at any double.
struct Block {
  std::int64_t first_row = 0;  ///< index in the source of the block's first row, bad rows counted
  int rows = 0;                ///< valid rows, at most kBlockRows

  ActionKind action_kind = ActionKind::continuous;
  std::int64_t features = 0;  ///< width of the context, 0 when there is none

  /// Consecutive rows that share one context. The context then has context_rows(*this) rows and its columns lie
  /// context_stride(replays) apart; only policies with several outputs are ready for more than 1.
  int replays = 1;

  // Context: dense (one pointer for both float types), or sparse when sparse.indptr is set.
  FloatType context_type = FloatType::f64;
  const void* context = nullptr;
  SparseContext sparse;
  /// Instead of `context`, for reductions that ask for it: all kBlockRows rows one after the other, as files hold them,
  /// at any address.
  const std::byte* context_by_row = nullptr;

  // Action: the member that fits action_kind.
  const double* action = nullptr;          ///< continuous
  const std::int32_t* category = nullptr;  ///< categorical, in [0, num_actions)
  const std::uint8_t* bits = nullptr;      ///< multilabel, num_actions columns of 0 or 1
  int num_actions = 0;                     ///< categories, or labels

  const double* loss = nullptr;  ///< smaller is better, whatever the file held

  // Probability or density of the logged action under the logging policy: exactly one of the two is set.
  const double* propensity = nullptr;
  const double* log_propensity = nullptr;
  const double* label_propensity = nullptr;  ///< optional, num_actions columns

  const double* const* targets = nullptr;  ///< num_targets columns: outside policies' probabilities
  int num_targets = 0;

  // What an outside model predicts, where there is one, as losses.
  const double* model_logged = nullptr;          ///< for the logged actions
  const double* const* model_targets = nullptr;  ///< over each target's actions; null for targets that it leaves out

  const std::int64_t* cluster = nullptr;  ///< optional: rows of one number are not independent

  /// Sources that walk several rollouts side by side: the block with the same index of the next rollout.
  const Block* next_rollout = nullptr;
};

/// Distinct contexts of the block's valid rows.
constexpr int context_rows(const Block& block) noexcept {
  return block.rows / block.replays;
}

}  // namespace scrm
