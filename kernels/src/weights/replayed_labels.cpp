#include "scrm/kernels/weights/replayed_labels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/replayed_labels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "scrm/kernels/scores/context_matrix.hpp"
#include "vector/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

HWY_INLINE V64 load_bits(F64 d, const std::uint8_t* bits) {
  const hn::Rebind<std::uint8_t, F64> d8;
  const hn::Rebind<std::int32_t, F64> d32;
  return hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(d8, bits)));
}

// The probability that no bit is set is a product over labels: its factors are multiplied up, and one logarithm is
// taken of many. log σ(s) − log σ(−s) is s itself, so that there is no other.
void add_label_impl(int contexts, const double* log_odds, double* log_none, double* product, double* unset_gradient) {
  const F64 d;
  const V64 one = hn::Set(d, 1.0), zero = hn::Zero(d);
  for (int c = 0; c < contexts; c += static_cast<int>(hn::Lanes(d))) {
    const V64 s = hn::Load(d, log_odds + c);
    const V64 small = hn::Exp(d, hn::Neg(hn::Abs(s)));
    const V64 likely = hn::Div(one, hn::Add(one, small));
    // σ(−s) = likely e^{−max(s, 0)}.
    hn::Store(hn::Sub(hn::Load(d, log_none + c), hn::Max(s, zero)), d, log_none + c);
    hn::Store(hn::Mul(hn::Load(d, product + c), likely), d, product + c);
    hn::Store(hn::Neg(hn::IfThenElse(hn::Lt(s, zero), hn::Mul(small, likely), likely)), d, unset_gradient + c);
  }
}

void add_mixed_label_impl(int contexts, double epsilon, double* log_odds, double* product, double* unset_gradient,
                          double* log_odds_gradient) {
  const F64 d;
  const V64 one = hn::Set(d, 1.0), keep = hn::Set(d, 1.0 - epsilon), half = hn::Set(d, 0.5 * epsilon);
  for (int c = 0; c < contexts; c += static_cast<int>(hn::Lanes(d))) {
    const V64 s = hn::Load(d, log_odds + c);
    const V64 small = hn::Exp(d, hn::Neg(hn::Abs(s)));
    const V64 likely = hn::Div(one, hn::Add(one, small)), unlikely = hn::Mul(small, likely);
    const auto negative = hn::Lt(s, hn::Zero(d));
    const V64 with = hn::MulAdd(keep, hn::IfThenElse(negative, unlikely, likely), half);
    const V64 without = hn::MulAdd(keep, hn::IfThenElse(negative, likely, unlikely), half);
    const V64 slope = hn::Mul(keep, hn::Mul(likely, unlikely));
    const V64 down = hn::Div(slope, without);
    hn::Store(hn::Mul(hn::Load(d, product + c), without), d, product + c);
    hn::Store(hn::Log(d, hn::Div(with, without)), d, log_odds + c);
    hn::Store(hn::Neg(down), d, unset_gradient + c);
    hn::Store(hn::Add(hn::Div(slope, with), down), d, log_odds_gradient + c);
  }
}

// log_none += log product, product = 1.
void add_log_product_impl(int contexts, double* log_none, double* product) {
  const F64 d;
  for (int c = 0; c < contexts; c += static_cast<int>(hn::Lanes(d))) {
    hn::Store(hn::Add(hn::Load(d, log_none + c), hn::Log(d, hn::Load(d, product + c))), d, log_none + c);
    hn::Store(hn::Set(d, 1.0), d, product + c);
  }
}

// The bits of four replays of a few contexts, one context in each number.
using FourBits = hn::Vec<hn::RebindToUnsigned<F64>>;

HWY_INLINE FourBits load_four_bits(const std::uint8_t* bits) {
  const hn::Rebind<std::uint32_t, F64> d32;
  return hn::PromoteTo(hn::RebindToUnsigned<F64>(), hn::LoadU(d32, reinterpret_cast<const std::uint32_t*>(bits)));
}

// The value where replay kReplay has its bit set, 0 elsewhere.
template <int kReplay>
HWY_INLINE V64 where_set(F64 d, FourBits bits, V64 value) {
#if HWY_TARGET == HWY_SCALAR
  // Its comparison takes a sign bit alone for −0, which is not negative.
  return hn::IfThenElseZero(hn::RebindMask(d, hn::TestBit(bits, hn::Set(hn::DFromV<FourBits>(), 1ULL << 8 * kReplay))),
                            value);
#else
  return hn::IfNegativeThenElse(hn::BitCast(d, hn::ShiftLeft<63 - 8 * kReplay>(bits)), value, hn::Zero(d));
#endif
}

// Four replays of a few contexts, one vector a replay.
struct FourRows {
  V64 a, b, c, d;
};

// Four replays, as in the published protocol. Two vectors of contexts at a time: a cache line of every label's column,
// since there may be more columns than places for them.
void log_probability_of_four_impl(int contexts, const Block& block, const LabelLogOdds& odds, double* out) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int first = 0; first < contexts; first += 2 * lanes) {
    FourRows sums[2];
    for (int v = 0; v < 2; ++v) {
      const V64 none = hn::Load(d, odds.log_none + first + v * lanes);
      sums[v] = {none, none, none, none};
    }
    for (int k = 0; k < block.num_actions; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows;
      for (int v = 0; v < 2; ++v) {
        const int c = first + v * lanes;
        const V64 each = hn::Load(d, odds.log_odds + at + c);
        const FourBits bits = load_four_bits(block.bits + at + 4 * c);
        FourRows& sum = sums[v];
        sum.a = hn::Add(sum.a, where_set<0>(d, bits, each));
        sum.b = hn::Add(sum.b, where_set<1>(d, bits, each));
        sum.c = hn::Add(sum.c, where_set<2>(d, bits, each));
        sum.d = hn::Add(sum.d, where_set<3>(d, bits, each));
      }
    }
    for (int v = 0; v < 2; ++v) {
      const FourRows& sum = sums[v];
      hn::StoreInterleaved4(sum.a, sum.b, sum.c, sum.d, d, out + 4 * (first + v * lanes));
    }
  }
}

void coefficients_of_four_impl(int contexts, const Block& block, const LabelLogOdds& odds, const double* row,
                               double* out) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int first = 0; first < contexts; first += 2 * lanes) {
    FourRows rows[2];
    V64 all[2];
    for (int v = 0; v < 2; ++v) {
      FourRows& r = rows[v];
      hn::LoadInterleaved4(d, row + 4 * (first + v * lanes), r.a, r.b, r.c, r.d);
      all[v] = hn::Add(hn::Add(hn::Add(r.a, r.b), r.c), r.d);
    }
    for (int k = 0; k < block.num_actions; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows;
      for (int v = 0; v < 2; ++v) {
        const int c = first + v * lanes;
        const FourBits bits = load_four_bits(block.bits + at + 4 * c);
        const FourRows& r = rows[v];
        V64 set = hn::Add(where_set<0>(d, bits, r.a), where_set<1>(d, bits, r.b));
        set = hn::Add(hn::Add(set, where_set<2>(d, bits, r.c)), where_set<3>(d, bits, r.d));
        if (odds.log_odds_gradient != nullptr) set = hn::Mul(hn::Load(d, odds.log_odds_gradient + at + c), set);
        const V64 both = hn::Add(hn::Mul(hn::Load(d, odds.unset_gradient + at + c), all[v]), set);
        hn::Store(zero_if_negligible(d, both), d, out + at + c);
      }
    }
  }
}

// out[i] += bits[i] each[i].
void add_where_set_impl(const std::uint8_t* bits, const double* each, int rows, double* out) {
  const F64 d;
  for (int i = 0; i < rows; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(hn::MulAdd(load_bits(d, bits + i), hn::Load(d, each + i), hn::Load(d, out + i)), d, out + i);
  }
}

// out[i] = bits[i] row[i].
void mask_by_bits_impl(const std::uint8_t* bits, const double* row, int rows, double* out) {
  const F64 d;
  for (int i = 0; i < rows; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(hn::Mul(load_bits(d, bits + i), hn::Load(d, row + i)), d, out + i);
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>
#include <numeric>

#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(add_label_impl);
HWY_EXPORT(add_mixed_label_impl);
HWY_EXPORT(add_log_product_impl);
HWY_EXPORT(log_probability_of_four_impl);
HWY_EXPORT(coefficients_of_four_impl);
HWY_EXPORT(add_where_set_impl);
HWY_EXPORT(mask_by_bits_impl);

namespace {

// Factors before a logarithm is taken: each is at least ε/2, or 1/2 without mixing, and their product must stay a
// number.
constexpr int kFactors = 16;
constexpr double kLeastFactor = 1e-18;

void repeat(const double* context, int contexts, int replays, double* rows) noexcept {
  for (int c = 0; c < contexts; ++c) std::fill_n(rows + c * replays, replays, context[c]);
}

void add_replays(const double* rows, int contexts, int replays, double* context) noexcept {
  for (int c = 0; c < contexts; ++c) {
    context[c] = std::accumulate(rows + c * replays, rows + (c + 1) * replays, 0.0);
  }
}

void log_probability_of_any(const Block& block, const LabelLogOdds& odds, double* out) noexcept {
  alignas(kColumnAlignment) double each[kBlockRows];
  const int contexts = context_rows(block), rows = round_up_to_vectors(block.rows);
  std::fill(each + block.rows, each + rows, 0.0);
  repeat(odds.log_none, contexts, block.replays, out);
  for (int k = 0; k < block.num_actions; ++k) {
    const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows;
    repeat(odds.log_odds + at, contexts, block.replays, each);
    HWY_DYNAMIC_DISPATCH(add_where_set_impl)(block.bits + at, each, rows, out);
  }
}

void coefficients_of_any(const Block& block, const LabelLogOdds& odds, const double* row, double* out) noexcept {
  alignas(kColumnAlignment) double all[kBlockRows], masked[kBlockRows];
  const int contexts = context_rows(block);
  add_replays(row, contexts, block.replays, all);
  for (int k = 0; k < block.num_actions; ++k) {
    const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows;
    HWY_DYNAMIC_DISPATCH(mask_by_bits_impl)(block.bits + at, row, round_up_to_vectors(block.rows), masked);
    add_replays(masked, contexts, block.replays, out + at);
    for (int c = 0; c < contexts; ++c) {
      const double log_odds_gradient = odds.log_odds_gradient == nullptr ? 1.0 : odds.log_odds_gradient[at + c];
      const double both = odds.unset_gradient[at + c] * all[c] + log_odds_gradient * out[at + c];
      out[at + c] = std::abs(both) < kNegligible ? 0.0 : both;
    }
  }
}

}  // namespace

void label_log_odds(int contexts, int labels, double epsilon, const LabelLogOdds& odds) noexcept {
  assert(contexts >= 0 && contexts <= kBlockRows && labels >= 1 && is_share(epsilon));
  assert(is_column(odds.log_odds) && is_column(odds.log_none) && is_column(odds.unset_gradient));
  ensure_isa();
  const int padded = round_up_to_vectors(contexts);
  alignas(kColumnAlignment) double product[kBlockRows];
  std::fill_n(odds.log_none, padded, 0.0);
  std::fill_n(product, padded, 1.0);
  const int factors = epsilon > 0 && epsilon < kLeastFactor ? 1 : kFactors;
  for (int k = 0; k < labels; ++k) {
    const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows;
    if (epsilon > 0) {
      HWY_DYNAMIC_DISPATCH(add_mixed_label_impl)
      (padded, epsilon, odds.log_odds + at, product, odds.unset_gradient + at, odds.log_odds_gradient + at);
    } else {
      HWY_DYNAMIC_DISPATCH(add_label_impl)
      (padded, odds.log_odds + at, odds.log_none, product, odds.unset_gradient + at);
    }
    if ((k + 1) % factors == 0 || k + 1 == labels) {
      HWY_DYNAMIC_DISPATCH(add_log_product_impl)(padded, odds.log_none, product);
    }
  }
}

void replayed_log_probability(const Block& block, const LabelLogOdds& odds, double* out) noexcept {
  assert(block.rows <= kBlockRows && block.replays >= 1 && is_column(block.bits) && is_column(out));
  ensure_isa();
  if (block.replays == 4) {
    HWY_DYNAMIC_DISPATCH(log_probability_of_four_impl)(round_up_to_vectors(context_rows(block)), block, odds, out);
  } else {
    log_probability_of_any(block, odds, out);
  }
  std::fill(out + block.rows, out + kBlockRows, 0.0);
}

void replayed_coefficients(const Block& block, const LabelLogOdds& odds, const double* row, double* out) noexcept {
  assert(block.rows <= kBlockRows && block.replays >= 1 && is_column(block.bits) && is_column(row) && is_column(out));
  ensure_isa();
  const int contexts = context_rows(block), padded = round_up_to_vectors(contexts);
  if (block.replays == 4) {
    HWY_DYNAMIC_DISPATCH(coefficients_of_four_impl)(padded, block, odds, row, out);
  } else {
    coefficients_of_any(block, odds, row, out);
  }
  for (int k = 0; k < block.num_actions; ++k) {
    double* column = out + static_cast<std::int64_t>(k) * kBlockRows;
    std::fill(column + contexts, column + padded, 0.0);
  }
}

}  // namespace scrm
#endif
