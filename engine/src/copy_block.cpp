#include "copy_block.hpp"

#include <algorithm>

namespace scrm {
namespace {

template <class T>
void copy_columns(const T* from, T* to, std::int64_t columns) {
  if (from != nullptr) std::copy_n(from, columns * kBlockRows, to);
}

void copy_context(const Block& block, BlockBuffer& out) {
  if (block.sparse.indptr != nullptr) {
    const std::int64_t entries = block.sparse.indptr[block.rows];
    std::copy_n(block.sparse.indptr, block.rows + 1, out.indptr());
    out.indices().assign(block.sparse.indices, block.sparse.indices + entries);
    out.values().assign(block.sparse.values, block.sparse.values + entries);
  } else if (block.context_type == FloatType::f32) {
    copy_columns(static_cast<const float*>(block.context), out.context_f32(), block.features);
  } else {
    copy_columns(static_cast<const double*>(block.context), out.context_f64(), block.features);
  }
}

}  // namespace

void copy_block(const Block& block, BlockBuffer& out) {
  copy_context(block, out);
  copy_columns(block.action, out.action(), 1);
  copy_columns(block.category, out.category(), 1);
  copy_columns(block.bits, out.bits(), block.num_actions);
  copy_columns(block.loss, out.loss(), 1);
  copy_columns(block.log_propensity != nullptr ? block.log_propensity : block.propensity, out.propensity(), 1);
  copy_columns(block.label_propensity, out.label_propensity(), block.num_actions);
  for (int t = 0; t < block.num_targets; ++t) copy_columns(block.targets[t], out.target(t), 1);
}

}  // namespace scrm
