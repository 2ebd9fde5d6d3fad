#include "scrm/engine/pass/dense_contexts.hpp"

#include <cstddef>
#include <cstdint>

#include "scrm/kernels/scores/context_matrix.hpp"

namespace scrm {
namespace {

template <class Number>
void append_columns(const Block& block, std::vector<double>& out) {
  const auto* context = static_cast<const Number*>(block.context);
  const std::int64_t stride = context_stride(block.replays);
  for (int i = 0; i < context_rows(block); ++i) {
    for (std::int64_t j = 0; j < block.features; ++j) out.push_back(static_cast<double>(context[j * stride + i]));
  }
}

void append_sparse(const Block& block, std::vector<double>& out) {
  const auto first = static_cast<std::int64_t>(out.size());
  out.resize(out.size() + static_cast<std::size_t>(context_rows(block) * block.features));
  double* rows = out.data() + first;
  for (int i = 0; i < context_rows(block); ++i) {
    for (std::int64_t e = block.sparse.indptr[i]; e < block.sparse.indptr[i + 1]; ++e) {
      rows[i * block.features + block.sparse.indices[e]] = block.sparse.values[e];
    }
  }
}

}  // namespace

void append_dense_contexts(const Block& block, std::vector<double>& out) {
  if (block.sparse.indptr != nullptr) return append_sparse(block, out);
  if (block.context_type == FloatType::f32) return append_columns<float>(block, out);
  append_columns<double>(block, out);
}

}  // namespace scrm
