#include "scrm/kernels/scores/densities.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/densities.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cstring>

#include "scores/score_exp-inl.hpp"
#include "scores/softmax_state.hpp"
#include "vector/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

void gaussian_impl(const double* action, const double* mean, double scale, double* out) {
  const F64 d;
  const V64 inverse = hn::Set(d, 1.0 / scale);
  const V64 log_norm = hn::Set(d, log_normal_norm(scale));
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(log_normal_density(d, hn::LoadU(d, action + i), hn::Load(d, mean + i), inverse, log_norm), d, out + i);
  }
}

void lognormal_impl(const double* action, const double* mean, double scale, double* out) {
  const F64 d;
  const V64 inverse = hn::Set(d, 1.0 / scale);
  const V64 log_norm = hn::Set(d, log_normal_norm(scale));
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    const V64 a = hn::LoadU(d, action + i);
    const auto positive = hn::Gt(a, hn::Zero(d));
    const V64 log_a = hn::Log(d, hn::IfThenElse(positive, a, hn::Set(d, 1.0)));
    const V64 density = hn::Sub(log_normal_density(d, log_a, hn::Load(d, mean + i), inverse, log_norm), log_a);
    hn::Store(hn::IfThenElse(positive, density, hn::Set(d, -HUGE_VAL)), d, out + i);
  }
}

// Vectors of rows that go through an exponential side by side: enough that none of its steps waits for the one before.
constexpr int kSideBySide = 4;

// Adds kVectors vectors of rows of a plain tile, from `first` on, to the sums.
template <int kVectors>
HWY_INLINE void add_plain_rows(const ScoreTile& tile, const SoftmaxState& state, int first) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  V64 sum[kVectors], x[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    sum[v] = tile.first_action == 0 ? hn::Zero(d) : hn::Load(d, state.sum + first + v * lanes);
  }
  const double* scores = tile.scores + first;
  for (int k = 0; k < tile.actions; ++k, scores += tile.stride) {
    for (int v = 0; v < kVectors; ++v) x[v] = hn::Load(d, scores + v * lanes);
    exp_of_scores(d, score_exp_numbers(), x);
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], x[v]);
  }
  for (int v = 0; v < kVectors; ++v) {
    hn::Store(hn::Zero(d), d, state.shift + first + v * lanes);
    hn::Store(sum[v], d, state.sum + first + v * lanes);
  }
}

// Five or six vectors of rows at a time where there are many: with as many chains of operations at once the processor
// need not look far ahead for work, and their numbers still fit sixteen registers. There are 4, 8, 16 or 32 at first.
constexpr int plain_vectors_at_once(int left) {
  return left == 4 || left == 8 ? 4 : left == 6 || left == 12 ? 6 : 5;
}

// Adds a plain tile to the sums.
void plain_sum_exp_impl(const ScoreTile& tile) {
  const int lanes = static_cast<int>(hn::Lanes(F64()));
  const SoftmaxState state(tile);
  for (int i = 0; i < tile.rows;) {
    const int vectors = plain_vectors_at_once((tile.rows - i) / lanes);
    if (vectors == 4) add_plain_rows<4>(tile, state, i);
    if (vectors == 5) add_plain_rows<5>(tile, state, i);
    if (vectors == 6) add_plain_rows<6>(tile, state, i);
    i += vectors * lanes;
  }
}

// Adds any tile to the shifts and the sums.
void log_sum_exp_impl(const ScoreTile& tile) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const SoftmaxState state(tile);
  const double* numbers = score_exp_numbers();
  for (int i = 0; i < tile.rows; i += kSideBySide * lanes) {
    const auto load = [&](V64(&to)[kSideBySide], const double* from) HWY_ATTR {
      for (int v = 0; v < kSideBySide; ++v) to[v] = hn::Load(d, from + i + v * lanes);
    };
    V64 shift[kSideBySide], sum[kSideBySide], x[kSideBySide];
    load(shift, tile.scores);
    for (int k = 1; k < tile.actions; ++k) {
      load(x, tile.scores + k * tile.stride);
      for (int v = 0; v < kSideBySide; ++v) shift[v] = hn::Max(shift[v], x[v]);
    }
    for (V64& one : sum) one = hn::Zero(d);
    if (tile.first_action == 0) {
      for (V64& one : shift) one = softmax_shift(d, one);
    } else {
      load(x, state.shift);
      load(sum, state.sum);
      for (int v = 0; v < kSideBySide; ++v) {
        // A shift of zero stands for any largest score that needs none.
        shift[v] = softmax_shift(d, hn::Max(shift[v], x[v]));
        x[v] = hn::Sub(x[v], shift[v]);
      }
      exp_of_any_scores(d, numbers, x);
      for (int v = 0; v < kSideBySide; ++v) sum[v] = hn::Mul(sum[v], x[v]);
    }
    for (int k = 0; k < tile.actions; ++k) {
      load(x, tile.scores + k * tile.stride);
      for (int v = 0; v < kSideBySide; ++v) x[v] = hn::Sub(x[v], shift[v]);
      exp_of_any_scores(d, numbers, x);
      for (int v = 0; v < kSideBySide; ++v) sum[v] = hn::Add(sum[v], x[v]);
    }
    for (int v = 0; v < kSideBySide; ++v) {
      hn::Store(shift[v], d, state.shift + i + v * lanes);
      hn::Store(sum[v], d, state.sum + i + v * lanes);
    }
  }
}

// The scores of logged actions that the tile holds. Where it holds `all` actions every row has one; with many actions
// few rows have theirs in any one tile: which ones is asked of whole vectors.
void chosen_scores_impl(const ScoreTile& tile, const std::int32_t* action, bool all) {
  const hn::ScalableTag<std::int32_t> d;
  constexpr int kMaskBytes = 8;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto before = hn::Set(d, tile.first_action - 1), end = hn::Set(d, tile.first_action + tile.actions);
  const SoftmaxState state(tile);
  if (all) {
    for (int i = 0; i < tile.rows; ++i) {
      const auto k = static_cast<std::uint32_t>(action[i]);
      state.chosen[i] = tile.scores[(k < static_cast<std::uint32_t>(tile.actions) ? k : 0) * tile.stride + i];
    }
    return;
  }
  for (int i = 0; i < tile.rows; i += lanes) {
    const auto k = hn::LoadU(d, action + i);
    std::uint8_t bytes[kMaskBytes] = {};
    hn::StoreMaskBits(d, hn::And(hn::Gt(k, before), hn::Lt(k, end)), bytes);
    std::uint64_t inside = 0;
    std::memcpy(&inside, bytes, sizeof(inside));
    for (; inside != 0; inside &= inside - 1) {
      const int row = i + std::countr_zero(inside);
      state.chosen[row] = tile.scores[(action[row] - tile.first_action) * tile.stride + row];
    }
  }
}

// Exponentials of scores further below the shift are not relied on: with e^kPlainScore and two thousand million actions
// the ratio to their sum is still a finite number up to here.
constexpr double kFarthest = -450.0;

// How far the scores of the logged actions lie above the shift, and the exponentials of that.
HWY_INLINE void exp_of_chosen(F64 d, const double* numbers, const SoftmaxState& state, int first, V64* above,
                              V64 (&own)[kSideBySide]) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int v = 0; v < kSideBySide; ++v) {
    const int i = first + v * lanes;
    own[v] = above[v] = hn::Sub(hn::Load(d, state.chosen + i), hn::Load(d, state.shift + i));
  }
  exp_of_any_scores(d, numbers, own);
}

// The logged action's log-probability, as −log(Σ exp(s' − shift) / exp(s − shift)). The divisor is, to the bit, one of
// the terms of the sum: an action that is certain gets exactly 0, and scores of any size keep the digits of their
// differences.
void finish_softmax_impl(const ScoreTile& tile, double* out) {
  const F64 d;
  const SoftmaxState state(tile);
  const double* numbers = score_exp_numbers();
  const V64 farthest = hn::Set(d, kFarthest);
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int first = 0; first < tile.rows; first += kSideBySide * lanes) {
    V64 above[kSideBySide], own[kSideBySide];
    exp_of_chosen(d, numbers, state, first, above, own);
    for (int v = 0; v < kSideBySide; ++v) {
      const V64 sum = hn::Load(d, state.sum + first + v * lanes);
      V64 result = hn::Sub(hn::Zero(d), hn::Log(d, hn::Div(sum, own[v])));
      const auto usual = hn::Ge(above[v], farthest);  // which NaN is not
      if (HWY_UNLIKELY(!hn::AllTrue(d, usual))) {
        result = hn::IfThenElse(usual, result, hn::Sub(above[v], hn::Log(d, sum)));
      }
      hn::Store(result, d, out + first + v * lanes);
    }
  }
}

// The same itself: (1−ε) exp(s − shift) / Σ + ε·uniform, over the propensity where there is one. No logarithm is taken
// of what would only be exponentiated again.
void finish_probability_impl(const ScoreTile& tile, double epsilon, double uniform, const double* propensity,
                             double* out) {
  const F64 d;
  const SoftmaxState state(tile);
  const double* numbers = score_exp_numbers();
  const V64 farthest = hn::Set(d, kFarthest), keep = hn::Set(d, 1.0 - epsilon), rest = hn::Set(d, epsilon * uniform);
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int first = 0; first < tile.rows; first += kSideBySide * lanes) {
    V64 above[kSideBySide], own[kSideBySide];
    exp_of_chosen(d, numbers, state, first, above, own);
    for (int v = 0; v < kSideBySide; ++v) {
      const int i = first + v * lanes;
      V64 result = hn::Div(own[v], hn::Load(d, state.sum + i));
      if (epsilon > 0) result = hn::MulAdd(keep, result, rest);
      if (propensity != nullptr) result = hn::Div(result, hn::LoadU(d, propensity + i));
      hn::Store(result, d, out + i);
      const auto usual = hn::Ge(above[v], farthest);  // which NaN is not
      if (HWY_LIKELY(epsilon > 0 || hn::AllTrue(d, usual))) continue;
      // Below the least of the doubles a probability may still be large beside a propensity: logarithms then.
      for (int row = i; row < i + lanes; ++row) {
        const double distance = state.chosen[row] - state.shift[row];
        if (distance >= kFarthest) continue;
        const double log_propensity = propensity != nullptr ? std::log(propensity[row]) : 0;
        out[row] = std::exp(distance - std::log(state.sum[row]) - log_propensity);
      }
    }
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
#include <algorithm>

#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(gaussian_impl);
HWY_EXPORT(lognormal_impl);
HWY_EXPORT(plain_sum_exp_impl);
HWY_EXPORT(log_sum_exp_impl);
HWY_EXPORT(chosen_scores_impl);
HWY_EXPORT(finish_softmax_impl);
HWY_EXPORT(finish_probability_impl);
HWY_EXPORT(mix_impl);
HWY_EXPORT(multilabel_joint_impl);
HWY_EXPORT(multilabel_per_label_impl);
HWY_EXPORT(label_probability_impl);

void gaussian_log_density(const double* action, const double* mean, double scale, double* out) noexcept {
  assert(scale > 0 && is_list(action) && is_column(mean) && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(gaussian_impl)(action, mean, scale, out);
}

void lognormal_log_density(const double* action, const double* mean, double scale, double* out) noexcept {
  assert(scale > 0 && is_list(action) && is_column(mean) && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(lognormal_impl)(action, mean, scale, out);
}

namespace {

/// Adds the tile to its rows' state; whether they have seen all actions now.
bool sum_softmax_tile(const ScoreTile& tile, const std::int32_t* action, int num_actions) noexcept {
  assert(is_score_tile(tile) && tile.first_action + tile.actions <= num_actions && is_column(action));
  ensure_isa();
  if (tile.plain) {
    HWY_DYNAMIC_DISPATCH(plain_sum_exp_impl)(tile);
  } else {
    HWY_DYNAMIC_DISPATCH(log_sum_exp_impl)(tile);
  }
  // Rows past the block's end may have no action that exists: some number for them.
  const bool all = tile.actions == num_actions;
  if (tile.first_action == 0 && !all) std::fill_n(SoftmaxState(tile).chosen, tile.rows, 0.0);
  HWY_DYNAMIC_DISPATCH(chosen_scores_impl)(tile, action + tile.first_row, all);
  return tile.first_action + tile.actions == num_actions;
}

}  // namespace

void add_softmax_tile(const ScoreTile& tile, const std::int32_t* action, int num_actions, double epsilon,
                      double* out) noexcept {
  assert(is_share(epsilon) && is_column(out));
  if (!sum_softmax_tile(tile, action, num_actions)) return;
  HWY_DYNAMIC_DISPATCH(finish_softmax_impl)(tile, out + tile.first_row);
  if (epsilon > 0) HWY_DYNAMIC_DISPATCH(mix_impl)(out + tile.first_row, tile.rows, epsilon, 1.0 / num_actions);
}

void add_softmax_density_tile(const ScoreTile& tile, const std::int32_t* action, int num_actions, double epsilon,
                              const double* propensity, double* out) noexcept {
  assert(is_share(epsilon) && is_column(out) && (propensity == nullptr || is_list(propensity)));
  if (!sum_softmax_tile(tile, action, num_actions)) return;
  HWY_DYNAMIC_DISPATCH(finish_probability_impl)
  (tile, epsilon, 1.0 / num_actions, propensity != nullptr ? propensity + tile.first_row : nullptr,
   out + tile.first_row);
}

void finish_softmax(const ScoreTile& tile, double* out) noexcept {
  HWY_DYNAMIC_DISPATCH(finish_softmax_impl)(tile, out);
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
