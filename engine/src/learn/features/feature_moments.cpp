#include "learn/features/feature_moments.hpp"

#include <algorithm>

#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"

namespace scrm {
namespace {

void dense_feature_moments(const Block& block, FeatureMoments& out) {
  constexpr std::int64_t kTogether = 16;
  AlignedArray<double> columns = make_aligned_for_overwrite<double>(kTogether * kBlockRows);
  for (std::int64_t first = 0; first < out.mean.size(); first += kTogether) {
    const std::int64_t count = std::min<std::int64_t>(kTogether, out.mean.size() - first);
    mapped_context(block, first, count, columns.get(), 0, block.rows);
    for (std::int64_t j = 0; j < count; ++j) {
      const Eigen::Map<const Eigen::ArrayXd> column(columns.get() + j * block.rows, block.rows);
      out.mean[first + j] = column.mean();
      out.square_sum[first + j] = (column - column.mean()).square().sum();
    }
  }
}

void sparse_feature_moments(const Block& block, FeatureMoments& out) {
  out.mean.setZero();
  out.square_sum.setZero();
  const std::int64_t entries = block.sparse.indptr[block.rows];
  for (std::int64_t e = 0; e < entries; ++e) out.mean[block.sparse.indices[e]] += block.sparse.values[e];
  out.mean /= block.rows;
  // As if all were zeros, and then what each entry changes.
  out.square_sum = block.rows * out.mean.cwiseAbs2();
  for (std::int64_t e = 0; e < entries; ++e) {
    const double mean = out.mean[block.sparse.indices[e]];
    const double value = block.sparse.values[e];
    out.square_sum[block.sparse.indices[e]] += (value - mean) * (value - mean) - mean * mean;
  }
}

}  // namespace

FeatureMoments feature_moments(Source& source, std::int64_t features, const PassOptions& pass) {
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(features);
  const bool sparse = source.schema().sparse;
  const auto compute = [sparse](const Block& block, FeatureMoments& out) {
    out.rows = block.rows;
    if (block.rows == 0) {
      out.mean.setZero();
      out.square_sum.setZero();
      return;
    }
    sparse ? sparse_feature_moments(block, out) : dense_feature_moments(block, out);
  };
  const auto merge = [](FeatureMoments& earlier, const FeatureMoments& later) { earlier.merge(later); };
  return run_pass(source, FeatureMoments{0, zero, zero}, compute, merge, pass).first;
}

}  // namespace scrm
