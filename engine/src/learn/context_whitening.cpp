#include "learn/context_whitening.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <utility>

#include "scrm/engine/policy_kind.hpp"
#include "scrm/kernels/aligned_array.hpp"
#include "scrm/kernels/context_matrix.hpp"
#include "scrm/kernels/scores.hpp"

namespace scrm {
namespace {

// Moments cost features² a row, once; an evaluation costs features a row, dozens of times.
constexpr std::int64_t kMaxFeatures = 64;
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

}  // namespace

std::optional<ContextWhitening> ContextWhitening::make(Source& source, const Policy& policy, double l2,
                                                       const PassOptions& pass) {
  const Schema& schema = source.schema();
  const bool linear = policy_kind(policy.kind).format.theta == ThetaRows::one && policy.features == FeatureMap::linear;
  if (!linear || schema.sparse || schema.features == 0 || schema.features > kMaxFeatures) return std::nullopt;
  const Eigen::Index width = schema.features + 1;
  auto [moments, audit] = run_pass(
      source, Eigen::MatrixXd(Eigen::MatrixXd::Zero(width, width)), block_second_moments,
      [](Eigen::MatrixXd& a, const Eigen::MatrixXd& b) { a += b; }, pass);
  const double rows = moments(0, 0);
  if (rows == 0) return std::nullopt;
  moments /= rows;
  moments.diagonal() *= 1 + kRidge;
  moments.diagonal().array() += kRidge;
  // The objective's own ridge bends it where contexts do not: a metric without it would stretch those directions until
  // the ridge is a cliff.
  moments.diagonal().tail(schema.features).array() += l2;
  const Eigen::LLT<Eigen::MatrixXd> factor(moments);
  if (factor.info() != Eigen::Success) return std::nullopt;
  return ContextWhitening(factor.matrixL());
}

std::vector<double> ContextWhitening::to_theta(const std::vector<double>& psi) const {
  Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXd>(psi.data(), std::ssize(psi));
  factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(x);
  return {x.begin(), x.end()};
}

std::vector<double> ContextWhitening::to_psi(const std::vector<double>& theta) const {
  const Eigen::VectorXd x = factor_.transpose() * Eigen::Map<const Eigen::VectorXd>(theta.data(), std::ssize(theta));
  return {x.begin(), x.end()};
}

std::vector<double> ContextWhitening::gradient(const std::vector<double>& by_theta) const {
  Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXd>(by_theta.data(), std::ssize(by_theta));
  factor_.triangularView<Eigen::Lower>().solveInPlace(x);
  return {x.begin(), x.end()};
}

}  // namespace scrm
