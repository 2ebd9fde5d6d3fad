#include "scrm/kernels/score_gradients.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "score_gradients.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

void normal_gradient_impl(bool lognormal, const double* action, double scale, double* scores, double* log_density) {
  const F64 d;
  const V64 inverse = hn::Set(d, 1.0 / scale);
  const V64 log_norm = hn::Set(d, log_normal_norm(scale));
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    const V64 a = hn::Load(d, action + i);
    const auto valid = hn::Gt(a, hn::Zero(d));
    const V64 x = lognormal ? hn::Log(d, hn::IfThenElse(valid, a, hn::Set(d, 1.0))) : a;
    const V64 z = hn::Mul(hn::Sub(x, hn::Load(d, scores + i)), inverse);
    V64 density = log_normal_density(d, z, log_norm);
    V64 slope = hn::Mul(z, inverse);
    if (lognormal) {
      density = hn::IfThenElse(valid, hn::Sub(density, x), hn::Set(d, -HUGE_VAL));
      slope = hn::IfThenElseZero(valid, slope);
    }
    hn::Store(density, d, log_density + i);
    hn::Store(slope, d, scores + i);
  }
}

// Scores become probabilities; the log of the sum of exponentials goes out for the logged action's log-probability.
void softmax_impl(int columns, double* scores, double* log_sum) {
  const F64 d;
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 largest = hn::Load(d, scores + i);
    for (int k = 1; k < columns; ++k) largest = hn::Max(largest, hn::Load(d, scores + k * kBlockRows + i));
    V64 sum = hn::Zero(d);
    for (int k = 0; k < columns; ++k) {
      double* at = scores + static_cast<std::int64_t>(k) * kBlockRows + i;
      const V64 e = hn::Exp(d, hn::Sub(hn::Load(d, at), largest));
      hn::Store(e, d, at);
      sum = hn::Add(sum, e);
    }
    const V64 inverse = hn::Div(hn::Set(d, 1.0), sum);
    for (int k = 0; k < columns; ++k) {
      double* at = scores + static_cast<std::int64_t>(k) * kBlockRows + i;
      hn::Store(hn::Mul(hn::Load(d, at), inverse), d, at);
    }
    hn::Store(hn::Add(largest, hn::Log(d, sum)), d, log_sum + i);
  }
}

// ∂ log σ(±s)/∂s = ±σ(∓s): one exponential and one logarithm a label.
void multilabel_joint_impl(const std::uint8_t* bits, int labels, double* scores, double* log_probability) {
  const F64 d;
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 sum = hn::Zero(d);
    for (int k = 0; k < labels; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows + i;
      const Logistic logistic(d, apply_bit_sign(d, bits + at, hn::Load(d, scores + at)));
      sum = hn::Add(sum, logistic.log_sigma(d));
      hn::Store(apply_bit_sign(d, bits + at, logistic.sigma_of_minus(d)), d, scores + at);
    }
    hn::Store(sum, d, log_probability + i);
  }
}

// π_k = (1−ε)σ + ε/2, and its log-derivative (1−ε) σ(t) σ(−t) / π_k with the bit's sign.
void label_gradient_impl(const std::uint8_t* bits, int labels, double epsilon, double* scores, double* probability) {
  const F64 d;
  const V64 keep = hn::Set(d, 1.0 - epsilon);
  const V64 half = hn::Set(d, 0.5 * epsilon);
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(labels) * kBlockRows;
       at += static_cast<std::int64_t>(hn::Lanes(d))) {
    const Logistic logistic(d, apply_bit_sign(d, bits + at, hn::Load(d, scores + at)));
    const V64 sigma = logistic.sigma(d);
    const V64 pi = hn::MulAdd(keep, sigma, half);
    // Without mixing the factor is one, also where σ has vanished.
    const V64 share = epsilon > 0 ? hn::Div(hn::Mul(keep, sigma), pi) : hn::Set(d, 1.0);
    hn::Store(pi, d, probability + at);
    hn::Store(apply_bit_sign(d, bits + at, hn::Mul(share, logistic.sigma_of_minus(d))), d, scores + at);
  }
}

// Per-label mixing: the joint log-probability is the sum of log π_k.
void multilabel_mixed_impl(const std::uint8_t* bits, int labels, double epsilon, double* scores,
                           double* log_probability) {
  const F64 d;
  const V64 keep = hn::Set(d, 1.0 - epsilon);
  const V64 half = hn::Set(d, 0.5 * epsilon);
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 sum = hn::Zero(d);
    for (int k = 0; k < labels; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows + i;
      const Logistic logistic(d, apply_bit_sign(d, bits + at, hn::Load(d, scores + at)));
      const V64 own = hn::Mul(keep, logistic.sigma(d));
      const V64 pi = hn::Add(own, half);
      sum = hn::Add(sum, hn::Log(d, pi));
      const V64 slope = hn::Mul(hn::Div(own, pi), logistic.sigma_of_minus(d));
      hn::Store(apply_bit_sign(d, bits + at, slope), d, scores + at);
    }
    hn::Store(sum, d, log_probability + i);
  }
}

// Mixes ε·uniform into log-probabilities and scales the derivatives by the share that the policy itself keeps.
void mix_impl(int columns, double epsilon, double uniform, double* slopes, double* log_probability) {
  const F64 d;
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    const V64 own = hn::Mul(hn::Set(d, 1.0 - epsilon), hn::Exp(d, hn::Load(d, log_probability + i)));
    const V64 mixed = hn::Add(own, hn::Set(d, epsilon * uniform));
    const V64 share = hn::Div(own, mixed);
    hn::Store(hn::Log(d, mixed), d, log_probability + i);
    for (int k = 0; k < columns; ++k) {
      double* at = slopes + static_cast<std::int64_t>(k) * kBlockRows + i;
      hn::Store(hn::Mul(share, hn::Load(d, at)), d, at);
    }
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "dispatch.hpp"
#include "preconditions.hpp"

namespace scrm {
HWY_EXPORT(normal_gradient_impl);
HWY_EXPORT(softmax_impl);
HWY_EXPORT(multilabel_joint_impl);
HWY_EXPORT(label_gradient_impl);
HWY_EXPORT(multilabel_mixed_impl);
HWY_EXPORT(mix_impl);

void gaussian_gradient(const double* action, double scale, double* scores, double* log_density) noexcept {
  assert(scale > 0 && is_column(action) && is_column(scores) && is_column(log_density));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(normal_gradient_impl)(false, action, scale, scores, log_density);
}

void lognormal_gradient(const double* action, double scale, double* scores, double* log_density) noexcept {
  assert(scale > 0 && is_column(action) && is_column(scores) && is_column(log_density));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(normal_gradient_impl)(true, action, scale, scores, log_density);
}

void softmax_gradient(const std::int32_t* action, int num_actions, double epsilon, double* scores,
                      double* log_probability) noexcept {
  assert(num_actions >= 1 && is_share(epsilon));
  assert(is_column(action) && is_column(scores) && is_column(log_probability));
  ensure_isa();
  double chosen[kBlockRows];
  for (int i = 0; i < kBlockRows; ++i) chosen[i] = scores[static_cast<std::int64_t>(action[i]) * kBlockRows + i];
  HWY_DYNAMIC_DISPATCH(softmax_impl)(num_actions, scores, log_probability);
  for (int i = 0; i < kBlockRows; ++i) log_probability[i] = chosen[i] - log_probability[i];
  const std::int64_t cells = static_cast<std::int64_t>(num_actions) * kBlockRows;
  for (std::int64_t at = 0; at < cells; ++at) scores[at] = -scores[at];
  for (int i = 0; i < kBlockRows; ++i) scores[static_cast<std::int64_t>(action[i]) * kBlockRows + i] += 1;
  if (epsilon > 0) {
    HWY_DYNAMIC_DISPATCH(mix_impl)(num_actions, epsilon, 1.0 / num_actions, scores, log_probability);
  }
}

void multilabel_gradient(const std::uint8_t* bits, int labels, double epsilon, Mixing mixing, double* scores,
                         double* log_probability) noexcept {
  assert(labels >= 0 && is_share(epsilon));
  assert(is_column(bits) && is_column(scores) && is_column(log_probability));
  ensure_isa();
  if (epsilon > 0 && mixing == Mixing::label) {
    HWY_DYNAMIC_DISPATCH(multilabel_mixed_impl)(bits, labels, epsilon, scores, log_probability);
    return;
  }
  HWY_DYNAMIC_DISPATCH(multilabel_joint_impl)(bits, labels, scores, log_probability);
  if (epsilon > 0) HWY_DYNAMIC_DISPATCH(mix_impl)(labels, epsilon, std::exp2(-labels), scores, log_probability);
}

void label_gradient(const std::uint8_t* bits, int labels, double epsilon, double* scores,
                    double* probability) noexcept {
  assert(labels >= 0 && is_share(epsilon));
  assert(is_column(bits) && is_column(scores) && is_column(probability));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(label_gradient_impl)(bits, labels, epsilon, scores, probability);
}

}  // namespace scrm
#endif
