#include "scrm/kernels/densities.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "densities.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

void gaussian_impl(const double* action, const double* mean, double scale, double* out) {
  const F64 d;
  const V64 inverse = hn::Set(d, 1.0 / scale);
  const V64 log_norm = hn::Set(d, log_normal_norm(scale));
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(log_normal_density(d, hn::Load(d, action + i), hn::Load(d, mean + i), inverse, log_norm), d, out + i);
  }
}

void lognormal_impl(const double* action, const double* mean, double scale, double* out) {
  const F64 d;
  const V64 inverse = hn::Set(d, 1.0 / scale);
  const V64 log_norm = hn::Set(d, log_normal_norm(scale));
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    const V64 a = hn::Load(d, action + i);
    const auto positive = hn::Gt(a, hn::Zero(d));
    const V64 log_a = hn::Log(d, hn::IfThenElse(positive, a, hn::Set(d, 1.0)));
    const V64 density = hn::Sub(log_normal_density(d, log_a, hn::Load(d, mean + i), inverse, log_norm), log_a);
    hn::Store(hn::IfThenElse(positive, density, hn::Set(d, -HUGE_VAL)), d, out + i);
  }
}

// log Σ exp(s) over the columns, as max + log Σ exp(s − max): two loops over a tile of rows.
void log_sum_exp_impl(const double* scores, int columns, double* out) {
  const F64 d;
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 largest = hn::Load(d, scores + i);
    for (int k = 1; k < columns; ++k) largest = hn::Max(largest, hn::Load(d, scores + k * kBlockRows + i));
    V64 sum = hn::Zero(d);
    for (int k = 0; k < columns; ++k) {
      sum = hn::Add(sum, hn::Exp(d, hn::Sub(hn::Load(d, scores + k * kBlockRows + i), largest)));
    }
    hn::Store(hn::Add(largest, hn::Log(d, sum)), d, out + i);
  }
}

// log((1−ε) e^x + ε·uniform) for x ≤ 0.
HWY_INLINE V64 log_mixed(F64 d, V64 log_probability, double epsilon, double uniform) {
  const V64 p = hn::Mul(hn::Set(d, 1.0 - epsilon), hn::Exp(d, log_probability));
  return hn::Log(d, hn::Add(p, hn::Set(d, epsilon * uniform)));
}

void mix_impl(double* log_probability, double epsilon, double uniform) {
  const F64 d;
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(log_mixed(d, hn::Load(d, log_probability + i), epsilon, uniform), d, log_probability + i);
  }
}

// Of the score with its sign turned where the bit is not set: σ of it is the probability of what was logged.
HWY_INLINE Logistic logged_bit(F64 d, const std::uint8_t* bits, const double* scores) {
  return {d, apply_bit_sign(d, bits, hn::Load(d, scores))};
}

void multilabel_joint_impl(const std::uint8_t* bits, const double* scores, int labels, double* out) {
  const F64 d;
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 sum = hn::Zero(d);
    for (int k = 0; k < labels; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows + i;
      sum = hn::Add(sum, logged_bit(d, bits + at, scores + at).log_sigma(d));
    }
    hn::Store(sum, d, out + i);
  }
}

void label_probability_impl(const std::uint8_t* bits, const double* scores, int labels, double epsilon, double* out) {
  const F64 d;
  const V64 keep = hn::Set(d, 1.0 - epsilon);
  const V64 half = hn::Set(d, 0.5 * epsilon);
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(labels) * kBlockRows;
       at += static_cast<std::int64_t>(hn::Lanes(d))) {
    hn::Store(hn::MulAdd(keep, logged_bit(d, bits + at, scores + at).sigma(d), half), d, out + at);
  }
}

void multilabel_per_label_impl(const std::uint8_t* bits, const double* scores, int labels, double epsilon,
                               double* out) {
  const F64 d;
  const V64 keep = hn::Set(d, 1.0 - epsilon);
  const V64 half = hn::Set(d, 0.5 * epsilon);
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 sum = hn::Zero(d);
    for (int k = 0; k < labels; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows + i;
      const V64 p = hn::MulAdd(keep, logged_bit(d, bits + at, scores + at).sigma(d), half);
      sum = hn::Add(sum, hn::Log(d, p));
    }
    hn::Store(sum, d, out + i);
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "dispatch.hpp"
#include "preconditions.hpp"

namespace scrm {
HWY_EXPORT(gaussian_impl);
HWY_EXPORT(lognormal_impl);
HWY_EXPORT(log_sum_exp_impl);
HWY_EXPORT(mix_impl);
HWY_EXPORT(multilabel_joint_impl);
HWY_EXPORT(multilabel_per_label_impl);
HWY_EXPORT(label_probability_impl);

void gaussian_log_density(const double* action, const double* mean, double scale, double* out) noexcept {
  assert(scale > 0 && is_column(action) && is_column(mean) && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(gaussian_impl)(action, mean, scale, out);
}

void lognormal_log_density(const double* action, const double* mean, double scale, double* out) noexcept {
  assert(scale > 0 && is_column(action) && is_column(mean) && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(lognormal_impl)(action, mean, scale, out);
}

void softmax_log_probability(const std::int32_t* action, const double* scores, int num_actions, double epsilon,
                             double* out) noexcept {
  assert(num_actions >= 1 && is_share(epsilon));
  assert(is_column(action) && is_column(scores) && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(log_sum_exp_impl)(scores, num_actions, out);
  for (int i = 0; i < kBlockRows; ++i) out[i] = scores[static_cast<std::int64_t>(action[i]) * kBlockRows + i] - out[i];
  if (epsilon > 0) HWY_DYNAMIC_DISPATCH(mix_impl)(out, epsilon, 1.0 / num_actions);
}

void multilabel_log_probability(const std::uint8_t* bits, const double* scores, int labels, double epsilon,
                                Mixing mixing, double* out) noexcept {
  assert(labels >= 0 && is_share(epsilon));
  assert(is_column(bits) && is_column(scores) && is_column(out));
  ensure_isa();
  if (epsilon > 0 && mixing == Mixing::label) {
    HWY_DYNAMIC_DISPATCH(multilabel_per_label_impl)(bits, scores, labels, epsilon, out);
    return;
  }
  HWY_DYNAMIC_DISPATCH(multilabel_joint_impl)(bits, scores, labels, out);
  if (epsilon > 0) HWY_DYNAMIC_DISPATCH(mix_impl)(out, epsilon, std::exp2(-labels));
}

void multilabel_label_probability(const std::uint8_t* bits, const double* scores, int labels, double epsilon,
                                  double* out) noexcept {
  assert(labels >= 0 && is_share(epsilon));
  assert(is_column(bits) && is_column(scores) && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(label_probability_impl)(bits, scores, labels, epsilon, out);
}

}  // namespace scrm
#endif
