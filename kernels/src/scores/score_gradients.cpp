#include "scrm/kernels/scores/score_gradients.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/score_gradients.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "scores/score_exp-inl.hpp"
#include "scores/softmax_state.hpp"
#include "vector/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

void normal_gradient_impl(bool lognormal, const double* action, double scale, double* scores, double* log_density) {
  const F64 d;
  const V64 inverse = hn::Set(d, 1.0 / scale);
  const V64 log_norm = hn::Set(d, log_normal_norm(scale));
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    const V64 a = hn::LoadU(d, action + i);
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

void normal_scale_gradient_impl(bool lognormal, const double* action, const double* scores, double scale, double* out) {
  const F64 d;
  const V64 inverse = hn::Set(d, 1.0 / scale), one = hn::Set(d, 1.0);
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    const V64 a = hn::LoadU(d, action + i);
    const auto valid = hn::Gt(a, hn::Zero(d));
    const V64 x = lognormal ? hn::Log(d, hn::IfThenElse(valid, a, one)) : a;
    const V64 z = hn::Mul(hn::Sub(x, hn::Load(d, scores + i)), inverse);
    const V64 slope = hn::MulSub(z, z, one);
    hn::Store(lognormal ? hn::IfThenElseZero(valid, slope) : slope, d, out + i);
  }
}

// Scores become derivatives but for the logged action's one: −share · p_k, p_k = exp(s_k − shift) / sum.
void softmax_slopes_impl(const ScoreTile& tile, const double* share, double* slopes) {
  constexpr int kVectors = 4;
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const SoftmaxState state(tile);
  const double* numbers = score_exp_numbers();
  for (int i = 0; i < tile.rows; i += kVectors * lanes) {
    V64 shift[kVectors], factor[kVectors], x[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      shift[v] = hn::Load(d, state.shift + i + v * lanes);
      factor[v] = hn::Neg(hn::Div(hn::Load(d, share + i + v * lanes), hn::Load(d, state.sum + i + v * lanes)));
    }
    for (int k = 0; k < tile.actions; ++k) {
      double* at = slopes + k * tile.stride + i;
      for (int v = 0; v < kVectors; ++v) x[v] = hn::Sub(hn::Load(d, at + v * lanes), shift[v]);
      exp_of_any_scores(d, numbers, x);
      for (int v = 0; v < kVectors; ++v) hn::Store(hn::Mul(x[v], factor[v]), d, at + v * lanes);
    }
  }
}

// Mixes ε·uniform into log-probabilities; `share` becomes the part of each that the policy itself has.
void mix_rows_impl(int rows, double epsilon, double uniform, double* log_probability, double* share) {
  const F64 d;
  for (int i = 0; i < rows; i += static_cast<int>(hn::Lanes(d))) {
    const V64 own = hn::Mul(hn::Set(d, 1.0 - epsilon), hn::Exp(d, hn::Load(d, log_probability + i)));
    const V64 mixed = hn::Add(own, hn::Set(d, epsilon * uniform));
    hn::Store(hn::Div(own, mixed), d, share + i);
    hn::Store(hn::Log(d, mixed), d, log_probability + i);
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

// Scales the derivatives by the share of the probability that the policy itself has.
void scale_slopes_impl(int columns, const double* share, double* slopes) {
  const F64 d;
  for (int k = 0; k < columns; ++k) {
    double* column = slopes + static_cast<std::int64_t>(k) * kBlockRows;
    for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
      hn::Store(hn::Mul(hn::Load(d, share + i), hn::Load(d, column + i)), d, column + i);
    }
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "scrm/kernels/scores/densities.hpp"
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(normal_gradient_impl);
HWY_EXPORT(softmax_slopes_impl);
HWY_EXPORT(mix_rows_impl);
HWY_EXPORT(multilabel_joint_impl);
HWY_EXPORT(label_gradient_impl);
HWY_EXPORT(multilabel_mixed_impl);
HWY_EXPORT(scale_slopes_impl);
HWY_EXPORT(normal_scale_gradient_impl);

void gaussian_gradient(const double* action, double scale, double* scores, double* log_density) noexcept {
  assert(scale > 0 && is_list(action) && is_column(scores) && is_column(log_density));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(normal_gradient_impl)(false, action, scale, scores, log_density);
}

void lognormal_gradient(const double* action, double scale, double* scores, double* log_density) noexcept {
  assert(scale > 0 && is_list(action) && is_column(scores) && is_column(log_density));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(normal_gradient_impl)(true, action, scale, scores, log_density);
}

void gaussian_scale_gradient(const double* action, const double* scores, double scale, double* out) noexcept {
  assert(scale > 0 && is_list(action) && is_column(scores) && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(normal_scale_gradient_impl)(false, action, scores, scale, out);
}

void lognormal_scale_gradient(const double* action, const double* scores, double scale, double* out) noexcept {
  assert(scale > 0 && is_list(action) && is_column(scores) && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(normal_scale_gradient_impl)(true, action, scores, scale, out);
}

void softmax_tile_gradient(const ScoreTile& tile, const std::int32_t* action, int num_actions, double epsilon,
                           double* scores) noexcept {
  assert(is_score_tile(tile) && tile.scores == scores && is_share(epsilon) && is_column(action));
  assert(tile.first_action + tile.actions <= num_actions);
  ensure_isa();
  alignas(kColumnAlignment) double share[kScoreTileRows], logs[kScoreTileRows];
  std::fill_n(share, kScoreTileRows, 1.0);
  if (epsilon > 0) {
    finish_softmax(tile, logs);
    HWY_DYNAMIC_DISPATCH(mix_rows_impl)(tile.rows, epsilon, 1.0 / num_actions, logs, share);
  }
  HWY_DYNAMIC_DISPATCH(softmax_slopes_impl)(tile, share, scores);
  for (int i = 0; i < tile.rows; ++i) {
    const int k = action[tile.first_row + i] - tile.first_action;
    if (k >= 0 && k < tile.actions) scores[k * tile.stride + i] += share[i];
  }
}

void softmax_gradient(const std::int32_t* action, int num_actions, double epsilon, double* scores,
                      double* log_probability) noexcept {
  assert(num_actions >= 1 && is_column(scores));
  alignas(kColumnAlignment) double state[ScoreTile::kStateColumns * kScoreTileRows];
  for (int first_row = 0; first_row < kBlockRows; first_row += kScoreTileRows) {
    ScoreTile tile{.stride = kBlockRows, .first_row = first_row, .rows = kScoreTileRows, .state = state};
    for (; tile.first_action < num_actions; tile.first_action += kScoreTileActions) {
      tile.actions = std::min(kScoreTileActions, num_actions - tile.first_action);
      tile.scores = scores + static_cast<std::int64_t>(tile.first_action) * kBlockRows + first_row;
      add_softmax_tile(tile, action, num_actions, epsilon, log_probability);
    }
    tile.scores = scores + first_row;
    tile.first_action = 0;
    tile.actions = num_actions;
    softmax_tile_gradient(tile, action, num_actions, epsilon, scores + first_row);
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
  if (epsilon == 0) return;
  alignas(kColumnAlignment) double share[kBlockRows];
  HWY_DYNAMIC_DISPATCH(mix_rows_impl)(kBlockRows, epsilon, std::exp2(-labels), log_probability, share);
  HWY_DYNAMIC_DISPATCH(scale_slopes_impl)(labels, share, scores);
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
