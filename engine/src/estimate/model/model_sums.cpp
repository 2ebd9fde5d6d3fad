#include "scrm/engine/estimate/model_sums.hpp"

#include "scrm/kernels/weights/weight_sums.hpp"

namespace scrm {

void TripleMoments::merge(const TripleMoments& later) noexcept {
  if (later.count == 0) return;
  if (count == 0) {
    *this = later;
    return;
  }
  const double total = count + later.count, share = later.count / total;
  double delta[3];
  for (int i = 0; i < 3; ++i) delta[i] = later.mean[i] - mean[i];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j <= i; ++j) product[i][j] += later.product[i][j] + delta[i] * delta[j] * (count * share);
    mean[i] += delta[i] * share;
  }
  count = total;
}

double TripleMoments::variance_along(std::span<const double, 3> slopes) const noexcept {
  double total = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j <= i; ++j) total += (i == j ? 1 : 2) * slopes[i] * slopes[j] * product[i][j];
  }
  return total > 0 ? total / (count - 1) : total * 0;  // below zero by rounding alone; NaN stays
}

void ModelSums::merge(const ModelSums& later) noexcept {
  prediction.merge(later.prediction);
  terms.merge(later.terms);
  residual.merge(later.residual);
  joint.merge(later.joint);
  additive.merge(later.additive);
}

void ModelDifference::merge(const ModelDifference& later) noexcept {
  prediction.merge(later.prediction);
  terms.merge(later.terms);
  additive.merge(later.additive);
}

ModelSums model_sums(int rows, const double* weights, ModelColumnsOfBlock& columns) noexcept {
  alignas(kColumnAlignment) double weighted[kBlockRows];
  for (int i = 0; i < rows; ++i) {
    weighted[i] = weights[i] * columns.residual[i];
    columns.terms[i] = columns.prediction[i] + weighted[i];
  }
  ModelSums out{.prediction = column_moments(columns.prediction, rows),
                .terms = column_moments(columns.terms, rows),
                .residual = column_moments(weighted, rows),
                .joint = {},
                .additive = {}};
  const Moments weight = column_moments(weights, rows);
  TripleMoments& joint = out.joint;
  joint.count = rows;
  joint.mean[0] = out.prediction.true_mean();
  joint.mean[1] = out.residual.true_mean();
  joint.mean[2] = weight.true_mean();
  double ab = 0, aw = 0, bw = 0;
  for (int i = 0; i < rows; ++i) {
    const double a = columns.prediction[i] - joint.mean[0], b = weighted[i] - joint.mean[1];
    const double w = weights[i] - joint.mean[2];
    ab += a * b;
    aw += a * w;
    bw += b * w;
  }
  joint.product[0][0] = out.prediction.square_sum;
  joint.product[1][0] = ab;
  joint.product[1][1] = out.residual.square_sum;
  joint.product[2][0] = aw;
  joint.product[2][1] = bw;
  joint.product[2][2] = weight.square_sum;
  return out;
}

}  // namespace scrm
