#include "scrm/engine/regression/ridge_regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "regression/dense_algebra.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// A fit that leaves less than this of a row to itself says nothing about the row.
constexpr double kMinOneMinusLeverage = 1e-10;

void check(std::span<const double> x, std::int64_t features, std::span<const double> y,
           std::span<const double> penalties) {
  if (y.empty()) throw Error(ErrorKind::data, "no rows to fit a ridge regression on");
  if (x.size() != y.size() * static_cast<std::size_t>(features)) {
    throw Error(ErrorKind::usage,
                fmt::format("{} numbers are not {} rows of {} features", x.size(), y.size(), features));
  }
  if (penalties.empty()) throw Error(ErrorKind::usage, "no penalty to choose from: give at least one");
  for (const double penalty : penalties) {
    if (std::isfinite(penalty) && penalty >= 0) continue;
    throw Error(ErrorKind::usage, fmt::format("the penalty is {}: it must not be negative", penalty));
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!std::isfinite(y[i])) {
      throw Error(ErrorKind::data, fmt::format("the response is {}: leave the row out", y[i]),
                  {.row = static_cast<std::int64_t>(i)});
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i])) continue;
    const auto at = static_cast<std::int64_t>(i);
    throw Error(ErrorKind::data, fmt::format("feature {} is {}: leave the row out", at % features, x[i]),
                {.row = at / features});
  }
}

/// The centred rows as U Σ Vᵀ, singular values that are rounding left out.
SingularValues decompose(const Eigen::MatrixXd& centred) {
  SingularValues svd = singular_values(centred);
  if (svd.sigma.size() == 0) return svd;
  const double cutoff = svd.sigma[0] * static_cast<double>(std::max(centred.rows(), centred.cols())) *
                        std::numeric_limits<double>::epsilon();
  Eigen::Index rank = 0;
  while (rank < svd.sigma.size() && svd.sigma[rank] > cutoff) ++rank;
  svd.u.conservativeResize(Eigen::NoChange, rank);
  svd.v.conservativeResize(Eigen::NoChange, rank);
  svd.sigma.conservativeResize(rank);
  return svd;
}

double leave_one_out(const SingularValues& svd, const Eigen::VectorXd& centred_y, double penalty) {
  const Eigen::ArrayXd shrink = svd.sigma.array().square() / (svd.sigma.array().square() + penalty);
  const Eigen::VectorXd fitted = svd.u * (shrink * (svd.u.transpose() * centred_y).array()).matrix();
  const auto n = static_cast<double>(centred_y.size());
  double sum = 0;
  for (Eigen::Index i = 0; i < centred_y.size(); ++i) {
    const double left = 1 - 1 / n - (svd.u.row(i).array().square() * shrink.transpose()).sum();
    if (left < kMinOneMinusLeverage) return std::numeric_limits<double>::infinity();
    const double residual = (centred_y[i] - fitted[i]) / left;
    sum += residual * residual;
  }
  return sum / n;
}

}  // namespace

double RidgeModel::predict(std::span<const double> x) const noexcept {
  double sum = beta[0];
  for (std::size_t j = 0; j < x.size(); ++j) sum += beta[1 + j] * x[j];
  return sum;
}

RidgeModel fit_ridge(std::span<const double> x, std::int64_t features, std::span<const double> y,
                     std::span<const double> penalties) {
  check(x, features, y, penalties);
  const auto n = static_cast<Eigen::Index>(y.size());
  Eigen::MatrixXd centred = Eigen::Map<const Eigen::MatrixXd>(x.data(), features, n).transpose();
  const Eigen::RowVectorXd mean_x = centred.colwise().mean();
  centred.rowwise() -= mean_x;
  Eigen::VectorXd centred_y = Eigen::Map<const Eigen::VectorXd>(y.data(), n);
  const double mean_y = centred_y.mean();
  centred_y.array() -= mean_y;

  const SingularValues svd = decompose(centred);
  RidgeModel model;
  for (const double penalty : penalties) model.leave_one_out.push_back(leave_one_out(svd, centred_y, penalty));
  const auto best = std::min_element(model.leave_one_out.begin(), model.leave_one_out.end());
  model.penalty = penalties[static_cast<std::size_t>(best - model.leave_one_out.begin())];

  const Eigen::ArrayXd inverse = svd.sigma.array() / (svd.sigma.array().square() + model.penalty);
  const Eigen::VectorXd slope = svd.v * (inverse * (svd.u.transpose() * centred_y).array()).matrix();
  model.beta.push_back(mean_y - (features > 0 ? mean_x.dot(slope) : 0.0));
  model.beta.insert(model.beta.end(), slope.data(), slope.data() + slope.size());
  return model;
}

}  // namespace scrm
