/// Products of a block's dense contexts with a few columns: scores Xθ and gradients Xᵀc, straight from the block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// From one column of a block's context to the next. Columns that were whole pages apart would compete for the same few
/// places of the cache: those of shared contexts, of which there are hundreds, lie one cache line further.
constexpr std::int64_t context_stride(int replays) noexcept {
  return kBlockRows / replays + (replays > 1 ? static_cast<int>(kColumnAlignment / sizeof(double)) : 0);
}

/// So many rows, and as many more as whole vectors of any instruction set take.
constexpr int round_up_to_vectors(int rows) noexcept {
  return (rows + 15) / 16 * 16;
}

/// The distinct contexts of a dense block, column-major.
struct ContextMatrix {
  const void* data = nullptr;
  FloatType type = FloatType::f64;
  std::int64_t stride = 0;    ///< from one column to the next
  std::int64_t features = 0;  ///< columns
  int rows = 0;               ///< a multiple of 16
};

/// Whether the columns of a block lie where whole vectors can be read: any number of replays that is a power of two,
/// 128 at most.
constexpr bool has_context_matrix(const Block& block) noexcept {
  return block.sparse.indptr == nullptr && kBlockRows / block.replays % 16 == 0;
}

/// All rows, those past the valid ones too.
constexpr ContextMatrix context_matrix(const Block& block) noexcept {
  const int rows = kBlockRows / block.replays;
  return {block.context, block.context_type, context_stride(block.replays), block.features, rows};
}

/// The valid rows alone, and as many more as whole vectors take.
constexpr ContextMatrix valid_contexts(const Block& block) noexcept {
  ContextMatrix out = context_matrix(block);
  out.rows = round_up_to_vectors(context_rows(block));
  return out;
}

/// A few rows of it, which begin where whole vectors can be read.
inline ContextMatrix context_tile(const ContextMatrix& x, int first_row, int rows) noexcept {
  ContextMatrix out = x;
  // Without features there may be no memory behind it.
  const std::size_t size = x.type == FloatType::f32 ? sizeof(float) : sizeof(double);
  if (x.features > 0) out.data = static_cast<const char*>(x.data) + static_cast<std::size_t>(first_row) * size;
  out.rows = rows;
  return out;
}

/// Outputs of a product: output k has the numbers from theta + k theta_stride on, and its scores begin at
/// out + k out_stride.
struct ScoreOutputs {
  const double* theta = nullptr;
  std::int64_t theta_stride = 0;
  int count = 0;
  double* out = nullptr;
  std::int64_t out_stride = kBlockRows;
};

/// Scores θ₀ + Σ_j θ_{1+j} x_ij. Every row adds its features in the same order, with fused multiply-adds: the bits of a
/// score do not depend on where its row stands, nor on the outputs beside it.
void context_scores(const ContextMatrix& x, const ScoreOutputs& outputs) noexcept;

/// The same without θ₀, added to what `out` holds: Σ_j θ_j x_ij, for maps that come a few columns at a time.
void add_context_scores(const ContextMatrix& x, const ScoreOutputs& outputs) noexcept;

/// out[k kBlockRows + i] = theta[k (1 + features)] + Σ_j theta[k (1 + features) + 1 + j] x_ij.
void context_scores(const ContextMatrix& x, const double* theta, int outputs, double* out) noexcept;

/// out[c length + j] = Σ_i coefficients[c kBlockRows + i] x_ij for j < features; coefficients are zero past the valid
/// rows.
void context_products(const ContextMatrix& x, const double* coefficients, int columns, double* out,
                      std::int64_t length) noexcept;

}  // namespace scrm
