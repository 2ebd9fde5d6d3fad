#include "reinforcement/actions/linear_scores.hpp"

#include "regression/dense_algebra.hpp"

namespace scrm {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

void linear_scores(const ContextRows& contexts, std::span<const double> weights, Eigen::MatrixXd& out) {
  const auto outputs = static_cast<Eigen::Index>(weights.size()) / contexts.width;
  out.resize(contexts.rows, outputs);
  if (out.size() == 0) return;
  set_product(Eigen::Map<const RowMajor>(contexts.data, contexts.rows, contexts.width),
              Eigen::Map<const Eigen::MatrixXd>(weights.data(), contexts.width, outputs), out);
}

void add_weight_gradient(const ContextRows& contexts, const Eigen::MatrixXd& by_scores, std::span<double> out) {
  if (by_scores.size() == 0) return;
  Eigen::Map<Eigen::MatrixXd> weights(out.data(), contexts.width, by_scores.cols());
  add_product(Eigen::Map<const Eigen::MatrixXd>(contexts.data, contexts.width, contexts.rows), by_scores, weights);
}

Eigen::MatrixXd repeat_rows(const Eigen::MatrixXd& rows, int times) {
  if (times == 1) return rows;
  Eigen::MatrixXd out(rows.rows() * times, rows.cols());
  for (Eigen::Index k = 0; k < out.cols(); ++k) {
    for (Eigen::Index i = 0; i < out.rows(); ++i) out(i, k) = rows(i / times, k);
  }
  return out;
}

Eigen::MatrixXd sum_rows(const Eigen::MatrixXd& rows, int times) {
  if (times == 1) return rows;
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(rows.rows() / times, rows.cols());
  for (Eigen::Index k = 0; k < out.cols(); ++k) {
    for (Eigen::Index i = 0; i < rows.rows(); ++i) out(i / times, k) += rows(i, k);
  }
  return out;
}

}  // namespace scrm
