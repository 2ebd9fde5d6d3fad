#include "scrm/kernels/scores/densities.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/densities.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "scores/softmax_state.hpp"
#include "vector/vector_math-inl.hpp"

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

// Adds a tile to the largest scores and the sums.
void log_sum_exp_impl(const ScoreTile& tile) {
  constexpr int kVectors = 4;
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const SoftmaxState state(tile);
  for (int i = 0; i < tile.rows; i += kVectors * lanes) {
    const auto load = [&](V64(&to)[kVectors], const double* from) HWY_ATTR {
      for (int v = 0; v < kVectors; ++v) to[v] = hn::Load(d, from + i + v * lanes);
    };
    V64 largest[kVectors], sum[kVectors], x[kVectors];
    load(largest, tile.scores);
    for (int k = 1; k < tile.actions; ++k) {
      load(x, tile.scores + k * tile.stride);
      for (int v = 0; v < kVectors; ++v) largest[v] = hn::Max(largest[v], x[v]);
    }
    for (V64& one : sum) one = hn::Zero(d);
    if (tile.first_action > 0) {
      load(x, state.largest);
      load(sum, state.sum);
      for (int v = 0; v < kVectors; ++v) {
        largest[v] = hn::Max(largest[v], x[v]);
        x[v] = hn::Sub(x[v], largest[v]);
      }
      exp_beside_one(d, x);
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::Mul(sum[v], x[v]);
    }
    for (int k = 0; k < tile.actions; ++k) {
      load(x, tile.scores + k * tile.stride);
      for (int v = 0; v < kVectors; ++v) x[v] = hn::Sub(x[v], largest[v]);
      exp_beside_one(d, x);
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], x[v]);
    }
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(largest[v], d, state.largest + i + v * lanes);
      hn::Store(sum[v], d, state.sum + i + v * lanes);
    }
  }
}

// The logged action's log-probability, as (s − largest) − log Σ exp(s' − largest): scores of any size keep the digits
// of their differences.
void finish_softmax_impl(const ScoreTile& tile, double* out) {
  const F64 d;
  const SoftmaxState state(tile);
  for (int i = 0; i < tile.rows; i += static_cast<int>(hn::Lanes(d))) {
    const V64 above = hn::Sub(hn::Load(d, state.chosen + i), hn::Load(d, state.largest + i));
    hn::Store(hn::Sub(above, hn::Log(d, hn::Load(d, state.sum + i))), d, out + i);
  }
}

// log((1−ε) e^x + ε·uniform) for x ≤ 0.
HWY_INLINE V64 log_mixed(F64 d, V64 log_probability, double epsilon, double uniform) {
  const V64 p = hn::Mul(hn::Set(d, 1.0 - epsilon), hn::Exp(d, log_probability));
  return hn::Log(d, hn::Add(p, hn::Set(d, epsilon * uniform)));
}

void mix_impl(double* log_probability, int rows, double epsilon, double uniform) {
  const F64 d;
  for (int i = 0; i < rows; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(log_mixed(d, hn::Load(d, log_probability + i), epsilon, uniform), d, log_probability + i);
  }
}

// Of the score with its sign turned where the bit is not set: σ of it is the probability of what was logged.
HWY_INLINE Logistic logged_bit(F64 d, const std::uint8_t* bits, const double* scores) {
  return {d, apply_bit_sign(d, bits, hn::Load(d, scores))};
}

void multilabel_joint_impl(const ScoreTile& tile, const std::uint8_t* bits, double* out) {
  const F64 d;
  for (int i = 0; i < tile.rows; i += static_cast<int>(hn::Lanes(d))) {
    V64 sum = tile.first_action == 0 ? hn::Zero(d) : hn::Load(d, out + i);
    for (int k = 0; k < tile.actions; ++k) {
      const std::uint8_t* logged = bits + static_cast<std::int64_t>(k) * kBlockRows + i;
      sum = hn::Add(sum, logged_bit(d, logged, tile.scores + k * tile.stride + i).log_sigma(d));
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

void multilabel_per_label_impl(const ScoreTile& tile, const std::uint8_t* bits, double epsilon, double* out) {
  const F64 d;
  const V64 keep = hn::Set(d, 1.0 - epsilon);
  const V64 half = hn::Set(d, 0.5 * epsilon);
  for (int i = 0; i < tile.rows; i += static_cast<int>(hn::Lanes(d))) {
    V64 sum = tile.first_action == 0 ? hn::Zero(d) : hn::Load(d, out + i);
    for (int k = 0; k < tile.actions; ++k) {
      const Logistic logistic =
          logged_bit(d, bits + static_cast<std::int64_t>(k) * kBlockRows + i, tile.scores + k * tile.stride + i);
      sum = hn::Add(sum, hn::Log(d, hn::MulAdd(keep, logistic.sigma(d), half)));
    }
    hn::Store(sum, d, out + i);
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(gaussian_impl);
HWY_EXPORT(lognormal_impl);
HWY_EXPORT(log_sum_exp_impl);
HWY_EXPORT(finish_softmax_impl);
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

void add_softmax_tile(const ScoreTile& tile, const std::int32_t* action, int num_actions, double epsilon,
                      double* out) noexcept {
  assert(is_score_tile(tile) && tile.first_action + tile.actions <= num_actions && is_share(epsilon));
  assert(is_column(action) && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(log_sum_exp_impl)(tile);
  // Without branches, which nothing could foresee; the first tile leaves some number for actions that come later.
  const SoftmaxState state(tile);
  for (int i = 0; i < tile.rows; ++i) {
    const int k = action[tile.first_row + i] - tile.first_action;
    const bool inside = k >= 0 && k < tile.actions;
    const double score = tile.scores[(inside ? k : 0) * tile.stride + i];
    state.chosen[i] = inside || tile.first_action == 0 ? score : state.chosen[i];
  }
  if (tile.first_action + tile.actions < num_actions) return;
  HWY_DYNAMIC_DISPATCH(finish_softmax_impl)(tile, out + tile.first_row);
  if (epsilon > 0) HWY_DYNAMIC_DISPATCH(mix_impl)(out + tile.first_row, tile.rows, epsilon, 1.0 / num_actions);
}

void softmax_log_probability(const std::int32_t* action, const double* scores, int num_actions, double epsilon,
                             double* out) noexcept {
  assert(num_actions >= 1 && is_column(scores));
  for_each_tile(scores, kBlockRows, num_actions,
                [&](const ScoreTile& tile) { add_softmax_tile(tile, action, num_actions, epsilon, out); });
}

void add_multilabel_tile(const ScoreTile& tile, const std::uint8_t* bits, int labels, double epsilon, Mixing mixing,
                         double* out) noexcept {
  assert(is_score_tile(tile) && tile.first_action + tile.actions <= labels && is_share(epsilon));
  assert(is_column(bits) && is_column(out));
  ensure_isa();
  const std::uint8_t* logged = bits + static_cast<std::int64_t>(tile.first_action) * kBlockRows + tile.first_row;
  double* rows = out + tile.first_row;
  if (epsilon > 0 && mixing == Mixing::label) {
    HWY_DYNAMIC_DISPATCH(multilabel_per_label_impl)(tile, logged, epsilon, rows);
    return;
  }
  HWY_DYNAMIC_DISPATCH(multilabel_joint_impl)(tile, logged, rows);
  if (epsilon == 0 || tile.first_action + tile.actions < labels) return;
  HWY_DYNAMIC_DISPATCH(mix_impl)(rows, tile.rows, epsilon, std::exp2(-labels));
}

void multilabel_log_probability(const std::uint8_t* bits, const double* scores, int labels, double epsilon,
                                Mixing mixing, double* out) noexcept {
  assert(labels >= 1 && is_column(scores));
  for_each_tile(scores, kBlockRows, labels,
                [&](const ScoreTile& tile) { add_multilabel_tile(tile, bits, labels, epsilon, mixing, out); });
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
