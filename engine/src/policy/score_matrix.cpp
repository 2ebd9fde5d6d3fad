#include "policy/score_matrix.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "policy/context_panel.hpp"
#include "scrm/kernels/scores/context_matrix.hpp"
#include "scrm/kernels/scores/context_tile.hpp"
#include "scrm/kernels/scores/score_tile.hpp"
#include "scrm/kernels/scores/sparse_contexts.hpp"

namespace scrm {

ScoreMatrix::ScoreMatrix(const Policy& policy, const Schema& schema) : policy_(policy) {
  if (policy.features == FeatureMap::fourier) {
    fourier_ = std::make_shared<const FourierTransform>(policy.fourier, schema.features);
  }
  if (policy.features != FeatureMap::linear || policy.outputs == 0) return;
  const std::int64_t width = policy.row_length();
  if (!schema.sparse) {
    if (schema.features > kTileFeatures || schema.replays > 1) return;
    score_bound_.resize(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < policy.theta.size(); ++i) {
      double& largest = score_bound_[i % score_bound_.size()];
      largest = std::max(largest, std::abs(policy.theta[i]));
    }
    return;
  }
  by_feature_.resize(policy.theta.size());
  for (int k = 0; k < policy.outputs; ++k) {
    for (std::int64_t j = 0; j < width; ++j) {
      by_feature_[static_cast<std::size_t>(j * policy.outputs + k)] =
          policy.theta[static_cast<std::size_t>(k * width + j)];
    }
  }
}

void ScoreMatrix::scores(const Block& block, PolicyScratch& scratch, double* out) const {
  if (block.replays > 1) return replayed_scores(block, scratch, out);
  if (block.sparse.indptr == nullptr && policy_.features == FeatureMap::quadratic)
    return mapped_scores(block, scratch, out);
  // A few rows at a time, whose contexts stay in cache for all outputs. Kernels read whole columns of a dense block:
  // rows past the valid ones get numbers too, beyond the last tile without any work.
  int end = 0;
  for (; end < block.rows; end += kScoreTileRows) {
    scores(block, {.first_row = end, .rows = kScoreTileRows, .outputs = policy_.outputs, .out = out + end});
  }
  if (block.sparse.indptr != nullptr) return;
  for (int k = 0; k < policy_.outputs; ++k)
    std::fill_n(out + static_cast<std::int64_t>(k) * kBlockRows + end, kBlockRows - end, 0.0);
}

void ScoreMatrix::scores(const Block& block, const ScoreRange& range) const {
  if (block.sparse.indptr != nullptr) {
    if (by_feature_.empty()) return sparse_scores(block, policy_.features, policy_.theta.data(), range);
    return sparse_scores(block, by_feature_.data(), policy_.outputs, range);
  }
  if (policy_.features != FeatureMap::linear) return mapped_scores(block, range);
  const std::int64_t width = policy_.row_length();
  scrm::context_scores(
      context_tile(context_matrix(block), range.first_row, range.rows),
      {policy_.theta.data() + range.first_output * width, width, range.outputs, range.out, range.stride});
}

void ScoreMatrix::tile_scores(const double* tile, const ScoreRange& range) const {
  const std::int64_t width = policy_.row_length();
  scrm::context_scores(
      {tile, FloatType::f64, range.rows, width - 1, range.rows},
      {policy_.theta.data() + range.first_output * width, width, range.outputs, range.out, range.stride});
}

/// A few columns of the mapped context at a time, made anew for each range: beside the products with many outputs that
/// costs little.
void ScoreMatrix::mapped_scores(const Block& block, const ScoreRange& range) const {
  constexpr std::int64_t kColumns = 32;
  alignas(kColumnAlignment) double panel[kColumns * kScoreTileRows];
  const std::int64_t width = policy_.row_length();
  const double* theta = policy_.theta.data() + range.first_output * width;
  for (int k = 0; k < range.outputs; ++k) std::fill_n(range.out + k * range.stride, range.rows, theta[k * width]);
  for (std::int64_t first = 0; first < width - 1; first += kColumns) {
    const std::int64_t count = std::min(kColumns, width - 1 - first);
    mapped_panel(block, first, count, range.first_row, range.rows, panel);
    add_context_scores({panel, FloatType::f64, range.rows, count, range.rows},
                       {theta + 1 + first, width, range.outputs, range.out, range.stride});
  }
}

void ScoreMatrix::mapped_panel(const Block& block, std::int64_t first, std::int64_t count, int first_row, int rows,
                               double* out) const {
  if (fourier_ == nullptr) return mapped_context(block, first, count, out, first_row, rows);
  const std::int64_t plain = std::clamp<std::int64_t>(block.features - first, 0, count);
  if (plain > 0) mapped_context(block, first, plain, out, first_row, rows);
  if (plain == count) return;
  fourier_->apply(context_tile(context_matrix(block), first_row, rows), first + plain - block.features, count - plain,
                  out + plain * rows, rows);
}

/// Whole columns of the mapped context, made once for all outputs, of which there may be one.
void ScoreMatrix::mapped_scores(const Block& block, PolicyScratch& scratch, double* out) const {
  const std::int64_t width = policy_.row_length();
  for (int k = 0; k < policy_.outputs; ++k) {
    std::fill_n(out + static_cast<std::int64_t>(k) * kBlockRows, kBlockRows,
                policy_.theta[static_cast<std::size_t>(k * width)]);
  }
  for (std::int64_t first = 0; first < width - 1; first += kPanelColumns) {
    const std::int64_t count = std::min(kPanelColumns, width - 1 - first);
    const double* panel = context_panel(block, first, count, scratch);
    // All kBlockRows rows, the meaningless ones too: a row's bits must not depend on how many rows follow it.
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, kBlockRows, policy_.outputs, static_cast<int>(count), 1.0,
                panel, kBlockRows, policy_.theta.data() + 1 + first, static_cast<int>(width), 1.0, out, kBlockRows);
  }
}

void ScoreMatrix::context_scores(const Block& block, double* out) const {
  if (block.sparse.indptr != nullptr) {
    return sparse_scores(distinct_contexts(block), by_feature_.data(), policy_.outputs,
                         {.rows = context_rows(block), .outputs = policy_.outputs, .out = out});
  }
  if (has_context_matrix(block)) {
    return scrm::context_scores(valid_contexts(block), policy_.theta.data(), policy_.outputs, out);
  }
  const int contexts = kBlockRows / block.replays;
  const std::int64_t width = policy_.row_length();
  for (int k = 0; k < policy_.outputs; ++k) {
    std::fill_n(out + static_cast<std::int64_t>(k) * kBlockRows, contexts,
                policy_.theta[static_cast<std::size_t>(k * width)]);
  }
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, contexts, policy_.outputs, static_cast<int>(block.features),
              1.0, static_cast<const double*>(block.context), static_cast<int>(context_stride(block.replays)),
              policy_.theta.data() + 1, static_cast<int>(width), 1.0, out, kBlockRows);
}

void ScoreMatrix::replayed_scores(const Block& block, PolicyScratch& scratch, double* out) const {
  // One set of scores for each context, in the place of the panel, which contexts in doubles do not need.
  double* once = scratch.columns(kPanelSlot, policy_.outputs);
  context_scores(block, once);
  for (int k = 0; k < policy_.outputs; ++k) {
    const double* from = once + static_cast<std::int64_t>(k) * kBlockRows;
    double* to = out + static_cast<std::int64_t>(k) * kBlockRows;
    for (int c = 0; c < context_rows(block); ++c) std::fill_n(to + c * block.replays, block.replays, from[c]);
    std::fill(to + block.rows, to + kBlockRows, 0.0);
  }
}

}  // namespace scrm
