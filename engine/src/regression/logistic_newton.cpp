#include "regression/logistic_newton.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "regression/dense_algebra.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/kernels/vector/elementary.hpp"

namespace scrm {
namespace {

// Beyond this width a Hessian costs more to factorise than it saves.
constexpr std::int64_t kDirectWidth = 1024;
// Conjugate gradient iterations that cost about as much as a fresh Hessian.
constexpr int kStaleHessianIterations = 8;
constexpr int kMatrixFreeIterations = 250;
constexpr int kLineSteps = 40;
constexpr double kArmijo = 1e-4;
// Differences of an objective below this share of it are rounding.
constexpr double kRounding = 1e-14;

double max_norm(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::abs(v));
  return most;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return cblas_ddot(static_cast<int>(a.size()), a.data(), 1, b.data(), 1);
}

void add(double factor, const std::vector<double>& x, std::vector<double>& y) {
  cblas_daxpy(static_cast<int>(x.size()), factor, x.data(), 1, y.data(), 1);
}

}  // namespace

LogisticNewton::LogisticNewton(const DesignMatrix& x, const std::vector<std::uint8_t>& label,
                               const std::vector<std::uint8_t>& use)
    : x_(x), label_(label), use_(use) {
  const auto n = static_cast<std::size_t>(x.rows()), d = static_cast<std::size_t>(x.width());
  for (const std::uint8_t u : use) used_rows_ += u != 0;
  direct_ = x.width() <= kDirectWidth && static_cast<double>(x.width()) <= used_rows_;
  for (auto* v : {&beta_, &gradient_, &direction_, &cg_residual_, &cg_z_, &cg_p_, &cg_q_}) v->resize(d);
  for (auto* v : {&scores_, &direction_scores_, &residual_, &curvature_, &row_work_, &row_work2_}) v->resize(n);
}

void LogisticNewton::solve(double c, int max_iterations, double tolerance) {
  ridge_ = 1 / (c * used_rows_);
  for (int iteration = 0;; ++iteration) {
    differentiate();
    if (iteration >= max_iterations || max_norm(gradient_) <= tolerance) return;
    newton_direction(tolerance);
    if (!line_search()) return;
  }
}

double LogisticNewton::value_at(double step) {
  const std::size_t n = scores_.size();
  for (std::size_t i = 0; i < n; ++i) {
    row_work2_[i] = scores_[i] + step * direction_scores_[i];
    row_work_[i] = -std::abs(row_work2_[i]);
  }
  exp_array(row_work_.data(), row_work_.data(), static_cast<int>(n));
  double hinge = 0;
  for (std::size_t i = 0; i < n; ++i) {
    row_work_[i] = use_[i] != 0 ? 1 + row_work_[i] : 1.0;
    const double margin = label_[i] != 0 ? row_work2_[i] : -row_work2_[i];
    if (use_[i] != 0) hinge += std::max(-margin, 0.0);
  }
  log_array(row_work_.data(), row_work_.data(), static_cast<int>(n));
  double sum = 0;
  for (const double term : row_work_) sum += term;
  double square = 0;
  for (std::size_t j = 1; j < beta_.size(); ++j) {
    const double b = beta_[j] + step * direction_[j];
    square += b * b;
  }
  return (hinge + sum) / used_rows_ + 0.5 * ridge_ * square;
}

void LogisticNewton::differentiate() {
  const std::size_t n = scores_.size();
  for (std::size_t i = 0; i < n; ++i) row_work_[i] = -std::abs(scores_[i]);
  exp_array(row_work_.data(), row_work_.data(), static_cast<int>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const double e = row_work_[i], part = 1 / (1 + e);
    const double weight = use_[i] != 0 ? 1 / used_rows_ : 0.0;
    // Whichever of p and 1 − p is small is formed without cancellation.
    const double p = scores_[i] >= 0 ? part : e * part, q = scores_[i] >= 0 ? e * part : part;
    residual_[i] = weight * (label_[i] != 0 ? -q : p);
    curvature_[i] = weight * p * q;
  }
  x_.transposed_product(residual_.data(), gradient_.data());
  for (std::size_t j = 1; j < beta_.size(); ++j) gradient_[j] += ridge_ * beta_[j];
}

void LogisticNewton::newton_direction(double tolerance) {
  const double slope = max_norm(gradient_);
  const double target = std::max(slope * std::clamp(std::sqrt(slope), 1e-4, 0.1), 0.1 * tolerance);
  if (direct_ && !data_hessian_.empty()) {
    if (factored_ridge_ != ridge_) factorise();
    if (conjugate_gradients(kStaleHessianIterations, target)) return;
  }
  if (direct_) {
    data_hessian_.resize(gradient_.size() * gradient_.size());
    x_.weighted_gram(curvature_.data(), data_hessian_.data());
  } else {
    data_hessian_.resize(gradient_.size());
    x_.weighted_squares(curvature_.data(), data_hessian_.data());
  }
  factorise();
  conjugate_gradients(direct_ ? kStaleHessianIterations : kMatrixFreeIterations, target);
}

void LogisticNewton::factorise() {
  const std::size_t d = gradient_.size();
  const std::size_t stride = direct_ ? d + 1 : 1;
  factored_ridge_ = ridge_;
  for (std::size_t j = 0; j < d; ++j) {
    if (std::isfinite(data_hessian_[j * stride])) continue;
    throw Error(ErrorKind::data, "features are so large that their squares overflow: scale them first");
  }
  // Where rows are fitted to the last digit their curvature underflows; a little more diagonal keeps the factor, and
  // only the speed of the iteration depends on it.
  for (double jitter = 1e-300;; jitter = std::max(jitter * 100, 1e-14 * data_hessian_[0])) {
    factor_ = data_hessian_;
    factor_[0] += jitter;
    for (std::size_t j = 1; j < d; ++j) factor_[j * stride] += ridge_ + jitter;
    if (!direct_) return;
    const auto side = static_cast<Eigen::Index>(d);
    if (cholesky(Eigen::Map<Eigen::MatrixXd>(factor_.data(), side, side))) return;
  }
}

void LogisticNewton::precondition(const std::vector<double>& r, std::vector<double>& z) const {
  z = r;
  if (!direct_) {
    for (std::size_t j = 0; j < z.size(); ++j) z[j] /= factor_[j];
    return;
  }
  const int d = static_cast<int>(z.size());
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, d, factor_.data(), d, z.data(), 1);
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, d, factor_.data(), d, z.data(), 1);
}

void LogisticNewton::hessian_times(const std::vector<double>& v, std::vector<double>& out) {
  x_.scores(v.data(), row_work_.data());
  for (std::size_t i = 0; i < row_work_.size(); ++i) row_work_[i] *= curvature_[i];
  x_.transposed_product(row_work_.data(), out.data());
  for (std::size_t j = 1; j < out.size(); ++j) out[j] += ridge_ * v[j];
}

bool LogisticNewton::conjugate_gradients(int limit, double target) {
  std::fill(direction_.begin(), direction_.end(), 0.0);
  for (std::size_t j = 0; j < gradient_.size(); ++j) cg_residual_[j] = -gradient_[j];
  precondition(cg_residual_, cg_z_);
  cg_p_ = cg_z_;
  double rz = dot(cg_residual_, cg_z_);
  for (int i = 0; i < limit; ++i) {
    hessian_times(cg_p_, cg_q_);
    const double curvature = dot(cg_p_, cg_q_);
    if (!(curvature > 0)) {
      // No curvature left along this line in double precision: what has been found so far has to do.
      if (i == 0) direction_ = cg_p_;
      return true;
    }
    const double step = rz / curvature;
    add(step, cg_p_, direction_);
    add(-step, cg_q_, cg_residual_);
    if (max_norm(cg_residual_) <= target) return true;
    precondition(cg_residual_, cg_z_);
    const double next = dot(cg_residual_, cg_z_);
    for (std::size_t j = 0; j < cg_p_.size(); ++j) cg_p_[j] = cg_z_[j] + next / rz * cg_p_[j];
    rz = next;
  }
  return false;
}

bool LogisticNewton::line_search() {
  x_.scores(direction_.data(), direction_scores_.data());
  const double start = value_at(0), slope = dot(gradient_, direction_);
  if (!(slope < 0)) return false;
  double step = 1;
  for (int i = 0; i < kLineSteps; ++i, step /= 2) {
    if (!(value_at(step) <= start + kArmijo * step * slope + kRounding * start)) continue;
    add(step, direction_, beta_);
    add(step, direction_scores_, scores_);
    return true;
  }
  return false;
}

}  // namespace scrm
