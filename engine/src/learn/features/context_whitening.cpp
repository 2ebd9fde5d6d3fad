#include "learn/features/context_whitening.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <utility>

#include "learn/features/feature_moments.hpp"
#include "ranks/eigen_bytes.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/kernels/scores/context_matrix.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"

namespace scrm {
namespace {

// Moments cost features² a row, once; an evaluation costs features a row, dozens of times.
constexpr std::int64_t kMaxFeatures = 64;
// Beyond this many, means and scales of every block would cost more memory than they are worth.
constexpr std::int64_t kMaxScaled = 1 << 16;
// Added to the diagonal, relative to it, so that features that are constant or copies of each other do no harm.
constexpr double kRidge = 1e-10;

/// Σ (1, x)(1, x)^T over a block.
void block_second_moments(const Block& block, Eigen::MatrixXd& out) {
  const Eigen::Index width = block.features + 1;
  alignas(kColumnAlignment) double ones[kBlockRows];
  std::fill(std::fill_n(ones, block.rows, 1.0), ones + kBlockRows, 0.0);
  const ContextMatrix x = context_matrix(block);
  context_products(x, ones, 1, out.data() + 1, width);
  // The contexts as columns of coefficients, zero past the valid rows; those of a full block of doubles are there.
  const auto* columns = static_cast<const double*>(block.context);
  AlignedArray<double> converted;
  if (block.rows < kBlockRows || block.context_type != FloatType::f64) {
    converted = make_aligned_for_overwrite<double>(static_cast<std::size_t>(block.features) * kBlockRows);
    mapped_context(block, 0, block.features, converted.get());
    for (std::int64_t j = 0; j < block.features; ++j) {
      std::fill(converted.get() + j * kBlockRows + block.rows, converted.get() + (j + 1) * kBlockRows, 0.0);
    }
    columns = converted.get();
  }
  context_products(x, columns, static_cast<int>(block.features), out.data() + width + 1, width);
  out.row(0) = out.col(0).transpose();
  out(0, 0) = block.rows;
}

/// L with L L^T the mean of (1, x)(1, x)^T; empty where there are no rows or it is not to be had.
Eigen::MatrixXd moment_factor(Source& source, double l2, bool any_units, const PassOptions& pass) {
  const Eigen::Index width = source.schema().features + 1;
  auto [moments, audit] = run_pass(
      source, Eigen::MatrixXd(Eigen::MatrixXd::Zero(width, width)), block_second_moments,
      [](Eigen::MatrixXd& a, const Eigen::MatrixXd& b) { a += b; }, pass);
  const double rows = moments(0, 0);
  if (rows == 0) return {};
  moments /= rows;
  moments.diagonal() *= 1 + kRidge;
  if (any_units) {
    for (double& moment : moments.diagonal()) moment = moment > 0 ? moment : 1;
  } else {
    moments.diagonal().array() += kRidge;
  }
  // The objective's own ridge bends it where contexts do not: a metric without it would stretch those directions until
  // the ridge is a cliff.
  moments.diagonal().tail(width - 1).array() += l2;
  const Eigen::LLT<Eigen::MatrixXd> factor(moments);
  return factor.info() == Eigen::Success ? Eigen::MatrixXd(factor.matrixL()) : Eigen::MatrixXd();
}

}  // namespace

bool ContextWhitening::is_cheap(const Schema& schema, const Policy& policy) {
  const bool one_score = policy_kind(policy.kind).format.theta == ThetaRows::one;
  return one_score && policy.features == FeatureMap::linear && !schema.sparse && schema.features <= kMaxFeatures;
}

std::optional<ContextWhitening> ContextWhitening::make(Source& source, const Policy& policy, double l2, bool any_units,
                                                       const PassOptions& pass) {
  const Schema& schema = source.schema();
  const std::int64_t features = mapped_features(policy.features, schema.features);
  const bool linear = policy.features == FeatureMap::linear;
  if (schema.features == 0 || policy.theta.empty() || (schema.sparse && !linear) || features > kMaxScaled) {
    return std::nullopt;
  }
  ContextWhitening out;
  if (linear && !schema.sparse && features <= kMaxFeatures) {
    out.factor_ = moment_factor(source, l2, any_units, pass);
    if (out.factor_.size() == 0) return std::nullopt;
    return out;
  }
  const FeatureMoments moments = feature_moments(source, features, pass);
  if (moments.rows == 0) return std::nullopt;
  out.means_ = moments.mean;
  out.scales_ = (moments.square_sum.array() / moments.rows + kRidge * moments.mean.array().square() + l2).sqrt();
  for (double& scale : out.scales_) scale = scale > 0 ? scale : 1;  // all zeros
  return out;
}

std::vector<double> ContextWhitening::to_theta(const std::vector<double>& psi) const {
  return each_row(psi, [&](auto& x) {
    if (means_.size() == 0) {
      factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(x);
    } else {
      x.tail(means_.size()).array() /= scales_.array();
      x[0] -= means_.dot(x.tail(means_.size()));
    }
  });
}

std::vector<double> ContextWhitening::to_psi(const std::vector<double>& theta) const {
  return each_row(theta, [&](auto& x) {
    if (means_.size() == 0) {
      x = (factor_.transpose() * x).eval();
    } else {
      x[0] += means_.dot(x.tail(means_.size()));
      x.tail(means_.size()).array() *= scales_.array();
    }
  });
}

std::vector<double> ContextWhitening::gradient(const std::vector<double>& by_theta) const {
  return each_row(by_theta, [&](auto& x) {
    if (means_.size() == 0) {
      factor_.triangularView<Eigen::Lower>().solveInPlace(x);
    } else {
      x.tail(means_.size()) -= x[0] * means_;
      x.tail(means_.size()).array() /= scales_.array();
    }
  });
}

}  // namespace scrm
