#include "scrm/kernels/replayed_labels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "replayed_labels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector_math-inl.hpp"

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

#include "dispatch.hpp"
#include "preconditions.hpp"

namespace scrm {
HWY_EXPORT(add_label_impl);
HWY_EXPORT(add_mixed_label_impl);
HWY_EXPORT(add_log_product_impl);
HWY_EXPORT(add_where_set_impl);
HWY_EXPORT(mask_by_bits_impl);

namespace {

// Factors before a logarithm is taken: each is at least ε/2, or 1/2 without mixing, and their product must stay a
// number.
constexpr int kFactors = 16;
constexpr double kLeastFactor = 1e-18;
constexpr int kVectorRows = 16;  // rows that are whole vectors of every instruction set

int round_up_to_vectors(int rows) noexcept {
  return std::min((rows + kVectorRows - 1) / kVectorRows * kVectorRows, kBlockRows);
}

// Four replays, as in the published protocol, are unrolled by the compiler.
template <class Each>
void for_replays(int replays, Each each) noexcept {
  if (replays == 4) {
    each(4);
  } else {
    each(replays);
  }
}

void repeat(const double* context, int contexts, int replays, double* rows) noexcept {
  for_replays(replays, [&](int times) {
    for (int c = 0; c < contexts; ++c) {
      for (int r = 0; r < times; ++r) rows[c * times + r] = context[c];
    }
  });
}

void add_replays(const double* rows, int contexts, int replays, double* context) noexcept {
  for_replays(replays, [&](int times) {
    for (int c = 0; c < contexts; ++c) {
      double sum = 0;
      for (int r = 0; r < times; ++r) sum += rows[c * times + r];
      context[c] = sum;
    }
  });
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
  assert(block.rows <= kBlockRows && block.replays >= 1 && is_column(block.bits) && out != nullptr);
  ensure_isa();
  alignas(kColumnAlignment) double each[kBlockRows];
  const int contexts = context_rows(block), rows = round_up_to_vectors(block.rows);
  std::fill(out + block.rows, out + kBlockRows, 0.0);
  std::fill(each + block.rows, each + rows, 0.0);
  repeat(odds.log_none, contexts, block.replays, out);
  for (int k = 0; k < block.num_actions; ++k) {
    const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows;
    repeat(odds.log_odds + at, contexts, block.replays, each);
    HWY_DYNAMIC_DISPATCH(add_where_set_impl)(block.bits + at, each, rows, out);
  }
}

void replayed_coefficients(const Block& block, const LabelLogOdds& odds, const double* row, double* out) noexcept {
  assert(block.rows <= kBlockRows && block.replays >= 1 && is_column(block.bits) && row != nullptr && out != nullptr);
  ensure_isa();
  alignas(kColumnAlignment) double all[kBlockRows], masked[kBlockRows];
  const int contexts = context_rows(block), padded = round_up_to_vectors(contexts);
  add_replays(row, contexts, block.replays, all);
  for (int k = 0; k < block.num_actions; ++k) {
    const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows;
    HWY_DYNAMIC_DISPATCH(mask_by_bits_impl)(block.bits + at, row, round_up_to_vectors(block.rows), masked);
    add_replays(masked, contexts, block.replays, out + at);
    for (int c = 0; c < contexts; ++c) {
      const double log_odds_gradient = odds.log_odds_gradient == nullptr ? 1.0 : odds.log_odds_gradient[at + c];
      out[at + c] = odds.unset_gradient[at + c] * all[c] + log_odds_gradient * out[at + c];
    }
    std::fill(out + at + contexts, out + at + padded, 0.0);
  }
}

}  // namespace scrm
#endif
