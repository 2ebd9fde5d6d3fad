#include "estimate/model/multi_shift_cg.hpp"

#include <cmath>

namespace scrm {
namespace {

// Of the right-hand side. A hundred steps are enough for all penalties that are worth choosing; where they are not, a
// search that ends early is itself a penalty, and is judged as it ended.
constexpr double kTolerance = 1e-3;
constexpr int kMaxSteps = 100;

double dot(const MultiShiftCg::Vector& a, const MultiShiftCg::Vector& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

}  // namespace

double penalty_at(int step) {
  return kLeastPenalty * std::pow(10.0, 0.5 * step);
}

MultiShiftCg::MultiShiftCg(const Vector& b) : residual_(b), direction_(b), square_(dot(b, b)), goal_(square_) {
  goal_ *= kTolerance * kTolerance;
  solutions_.assign(kPenalties, Vector(b.size()));
  directions_.assign(kPenalties, b);
}

bool MultiShiftCg::done() const {
  return steps_ >= kMaxSteps || !(square_ > goal_);
}

void MultiShiftCg::step(const Vector& product) {
  const double curvature = dot(direction_, product) + kLeastPenalty * dot(direction_, direction_);
  const double alpha = square_ / curvature;
  std::array<double, kPenalties> zeta;
  for (int s = 0; s < kPenalties; ++s) {
    const auto at = static_cast<std::size_t>(s);
    const double shift = penalty_at(s) - kLeastPenalty, before = zeta_before_[at], now = zeta_now_[at];
    zeta[at] = now * before * alpha_ / (alpha_ * before * (1 + alpha * shift) + alpha * beta_ * (before - now));
    const double length = alpha * zeta[at] / now;
    for (std::size_t j = 0; j < residual_.size(); ++j) solutions_[at][j] += length * directions_[at][j];
  }
  for (std::size_t j = 0; j < residual_.size(); ++j)
    residual_[j] -= alpha * (product[j] + kLeastPenalty * direction_[j]);
  const double square = dot(residual_, residual_), beta = square / square_;
  for (std::size_t j = 0; j < residual_.size(); ++j) direction_[j] = residual_[j] + beta * direction_[j];
  for (std::size_t at = 0; at < kPenalties; ++at) {
    const double ratio = zeta[at] / zeta_now_[at], keep = beta * ratio * ratio;
    for (std::size_t j = 0; j < residual_.size(); ++j)
      directions_[at][j] = zeta[at] * residual_[j] + keep * directions_[at][j];
    zeta_before_[at] = zeta_now_[at];
    zeta_now_[at] = zeta[at];
  }
  alpha_ = alpha;
  beta_ = beta;
  square_ = square;
  ++steps_;
}

}  // namespace scrm
