/// Exponentials of scores for sums over many actions: included once per instruction set.
#if defined(SCRM_SCORE_EXP_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef SCRM_SCORE_EXP_INL_HPP
#undef SCRM_SCORE_EXP_INL_HPP
#else
#define SCRM_SCORE_EXP_INL_HPP
#endif

#include <hwy/highway.h>

#include "scrm/kernels/scores/score_tile.hpp"
#include "vector/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

// The numbers of exp_of_scores in the order of their use.
constexpr double kScoreExp[] = {6755399441055744.0,
                                1.4426950408889634074,
                                0.69314718055994530942,
                                kExpTail[9],
                                kExpTail[8],
                                kExpTail[7],
                                kExpTail[6],
                                kExpTail[5],
                                kExpTail[4],
                                kExpTail[3],
                                kExpTail[2],
                                kExpTail[1],
                                kExpTail[0],
                                1.0};

// kScoreExp from a place that the compiler does not know, and a new one with each call. Asked for within a loop, each
// number is then loaded once for several vectors; numbers that are known, or were loaded before the loop and found no
// register, become operands of every multiplication, and loads are what such loops wait for.
HWY_INLINE const double* score_exp_numbers() {
  const double* numbers = kScoreExp;
  __asm__ volatile("" : "+r"(numbers));  // NOLINT(hicpp-no-assembler)
  return numbers;
}

// exp of several vectors of numbers in place, |x| ≤ 700, for ratios of them: within an ulp of exp(x (1 − 3.4e-17)),
// since ln 2 comes in one part. In a ratio exp(x) / exp(y) that leaves 3.4e-17 (x − y). Step by step for all vectors,
// the shortest chain of operations.
template <int kVectors>
HWY_INLINE void exp_of_scores(F64 d, const double* numbers, V64 (&x)[kVectors]) {
  V64 n_bits[kVectors], power[kVectors];
  const V64 magic = hn::Set(d, numbers[0]), per_ln2 = hn::Set(d, numbers[1]), ln2 = hn::Set(d, numbers[2]);
  for (int v = 0; v < kVectors; ++v) n_bits[v] = hn::MulAdd(x[v], per_ln2, magic);
#if HWY_NATIVE_FMA
  for (int v = 0; v < kVectors; ++v) x[v] = hn::NegMulAdd(hn::Sub(n_bits[v], magic), ln2, x[v]);
#else
  // A product that is rounded before it is subtracted would cost as many digits as the score has before its point.
  (void)ln2;
  for (int v = 0; v < kVectors; ++v) x[v] = reduce_exp(d, x[v]).r;
#endif
  const V64 ninth = hn::Set(d, numbers[3]), eighth = hn::Set(d, numbers[4]);
  for (int v = 0; v < kVectors; ++v) power[v] = hn::MulAdd(x[v], ninth, eighth);
  for (int k = 5; k < 14; ++k) {
    const V64 next = hn::Set(d, numbers[k]);
    for (int v = 0; v < kVectors; ++v) power[v] = hn::MulAdd(power[v], x[v], next);
  }
  const V64 one = hn::Set(d, numbers[13]);
  for (int v = 0; v < kVectors; ++v) power[v] = hn::MulAdd(power[v], x[v], one);
  for (int v = 0; v < kVectors; ++v) x[v] = scale_by_bits(d, power[v], n_bits[v]);
}

// The same for any numbers x ≤ 700: what is too small to matter in a sum comes out as e^-700. A NaN stays one.
template <int kVectors>
HWY_INLINE void exp_of_any_scores(F64 d, const double* numbers, V64 (&x)[kVectors]) {
  for (V64& value : x) value = hn::Max(hn::Set(d, -kVectorExpLimit), value);
  exp_of_scores(d, numbers, x);
}

// What is taken from the scores of a row before they are exponentiated: nothing, unless the largest of them is far from
// zero. It never falls as the largest score grows.
HWY_INLINE V64 softmax_shift(F64 d, V64 largest) {
  return hn::IfThenZeroElse(hn::Le(hn::Abs(largest), hn::Set(d, kPlainScore)), largest);
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
