// What a FeatureRidge knows of states it is asked about.
#include <algorithm>
#include <cmath>

#include "pass/parallel_indices.hpp"
#include "regression/dense_algebra.hpp"
#include "regression/kernel_ridge/feature_ridge.hpp"
#include "scrm/kernels/vector/elementary.hpp"

namespace scrm {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::int64_t kContextsAtOnce = 64;

}  // namespace

void FeatureRidge::fill_features(const States& states, Columns out) const {
  if (dual_) return kernel_values(options_.kernel, inputs(), states, out);
  fill_inputs(states.topRows(input_size_), out);
  if (splits_action()) scale(states.row(input_size_).transpose(), Eigen::ArrayXd::Ones(states.cols()), out);
}

void FeatureRidge::squared_widths(const States& states, Columns features, Answers out) const {
  if (dual_) {
    solve_triangular(factor_, features);
    out = (kernel_diagonal(options_.kernel, states) - features.colwise().squaredNorm().transpose()) / options_.lambda;
    return;
  }
  // k − kᵀ(K + λI)⁻¹k = λ φᵀ(ΦᵀΦ + λI)⁻¹φ: there is nothing to subtract from but what points leave.
  out.setZero();
  for (const FeatureBlock& block : blocks_) {
    if (block.finite) continue;
    VectorXd whole = block.ways * kernel_diagonal(block.kernel, states.topRows(input_size_));
    if (splits_action()) whole.array() *= powers(states.row(input_size_).transpose(), 2 * block.action_power);
    whole -= block.rows_of(features).colwise().squaredNorm().transpose();
    out += whole.cwiseMax(0.0) / options_.lambda;
  }
  equations_.whiten(features);
  out += features.colwise().squaredNorm().transpose();
}

void FeatureRidge::action_polynomials(const States& contexts, Columns means, Columns* squares) const {
  const Eigen::Index n = contexts.cols();
  if (squares != nullptr) squares->setZero();
  // Features of (x, t) are Σ t^q columns[q], each zero before its block.
  std::vector<MatrixXd> columns;
  for (const FeatureBlock& block : blocks_) {
    const Eigen::Index q = block.action_power;
    MatrixXd psi(block.size(), n);
    block.fill(contexts, psi);
    psi *= std::sqrt(block.ways);
    VectorXd mean(n);
    set_product(psi.transpose(), weights().segment(block.offset, block.size()), mean);
    means.row(q) = mean;
    if (squares == nullptr) continue;
    MatrixXd& column = columns.emplace_back(MatrixXd::Zero(dimension() - block.offset, n));
    if (block.finite) {
      set_product(block.axes, psi, column);
      continue;
    }
    const VectorXd own = block.ways * kernel_diagonal(block.kernel, contexts);
    squares->row(2 * q) = (own.transpose() - psi.colwise().squaredNorm()).cwiseMax(0.0) / options_.lambda;
    column.topRows(block.size()) = psi;
    equations_.whiten(column);
  }
  for (std::size_t j = 0; j < columns.size(); ++j) {
    for (std::size_t l = j; l < columns.size(); ++l) {
      const auto longer = columns[j].bottomRows(columns[l].rows());
      squares->row(blocks_[j].action_power + blocks_[l].action_power) +=
          (j == l ? 1 : 2) * longer.cwiseProduct(columns[l]).colwise().sum();
    }
  }
}

/// The gaussian kernel is a product of one of contexts and one of actions, so that a context meets the points once and
/// the actions of a grid follow by a matrix product.
void FeatureRidge::grid_means(const States& contexts, const Responses& actions, Columns out) const {
  const States points = centres();
  const Eigen::Index features = options_.kernel.features;
  MatrixXd of_actions(points.cols(), actions.size());
  for (Eigen::Index g = 0; g < actions.size(); ++g) {
    const auto distances = (points.row(features).transpose().array() - actions[g]) / options_.kernel.length;
    of_actions.col(g) = -0.5 * distances.square();
  }
  exp_array(of_actions.data(), of_actions.data(), static_cast<int>(of_actions.size()));
  of_actions.array().colwise() *= kernel_weights_.array();
  StateKernel of_context = options_.kernel;
  of_context.actions = 0;
  parallel_blocks(contexts.cols(), kContextsAtOnce, [&](std::int64_t first, std::int64_t n) {
    MatrixXd of_contexts(points.cols(), n);
    kernel_values(of_context, points.topRows(features), contexts.middleCols(first, n), of_contexts);
    set_product(of_actions.transpose(), of_contexts, out.middleCols(first, n));
  });
}

void FeatureRidge::find_bit_weights() {
  if (options_.kernel.kind != KernelKind::bits) return;
  const Eigen::Index side = 1 + options_.kernel.features, bits = 1 + options_.kernel.actions;
  bit_weights_.setZero(side, bits);
  if (exact_) bit_weights_ = weights().reshaped(side, bits);
  if (exact_ || centres().cols() == 0) return;  // a matrix of no columns has no rows either
  const MatrixXd x = with_ones(centres().topRows(side - 1));
  const MatrixXd a = kernel_weights_.asDiagonal() * with_ones(centres().bottomRows(bits - 1)).transpose();
  set_product(x, a, bit_weights_);
}

/// With H the inverse and W_kl = (1, x)ᵀ H_kl (1, x), width² of bits a is (1, a)ᵀ W (1, a), and a bit that flips adds
/// or takes twice its row of W (1, a), and adds W_kk.
void FeatureRidge::squared_flip_widths(const States& contexts, const States& bits, Columns out) const {
  const Eigen::Index side = 1 + contexts.rows(), n = contexts.cols();
  const MatrixXd x = with_ones(contexts), a = with_ones(bits);
  MatrixXd own(a.rows(), n), product(side, n);
  MatrixXd across = MatrixXd::Zero(a.rows(), n);
  std::vector<Eigen::Index> having;
  for (Eigen::Index l = 0; l < a.rows(); ++l) {
    set_product(inverse_.block(l * side, l * side, side, side), x, product);
    own.row(l) = x.cwiseProduct(product).colwise().sum();
    having.clear();
    for (Eigen::Index i = 0; i < n; ++i) {
      if (a(l, i) != 0) having.push_back(i);
    }
    const MatrixXd those = x(Eigen::all, having);
    MatrixXd along(inverse_.rows(), those.cols());
    set_product(inverse_.middleCols(l * side, side), those, along);
    for (Eigen::Index c = 0; c < those.cols(); ++c) {
      across.col(having[static_cast<std::size_t>(c)]) +=
          along.col(c).reshaped(side, a.rows()).transpose() * those.col(c);
    }
  }
  const Eigen::RowVectorXd base = a.cwiseProduct(across).colwise().sum();
  out = (own.array() + (2 - 4 * a.array()) * across.array()).matrix().rowwise() + base;
  out.row(0) = base;
}

}  // namespace scrm
