#include "scrm/kernels/scores/context_matrix.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/context_matrix.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weights/weight_transform-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
// Features added at a time: few enough streams for the prefetcher, and enough that loading and storing the scores
// hardly shows (with 16 it took a twentieth of the time of some hundred features); their columns stay in L2 while one
// group of outputs after the other is added.
constexpr std::int64_t kPanel = 32;

// What a group of outputs is made of: the coefficient of output k for the panel's feature j is theta[k width + j], and
// its scores begin at out + k out_stride. Scores start from the number before theta, or from what they are.
struct Outputs {
  const double* theta;
  std::int64_t width;
  double* out;
  std::int64_t out_stride;
  bool start;
};

// Two vectors of rows by kOutputs outputs: twelve sums at most, which fit the registers of every instruction set.
template <int kOutputs, class T>
HWY_INLINE void add_panel(const T* x, std::int64_t stride, std::int64_t features, int rows, const Outputs& outputs) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto [theta, width, out, out_stride, start] = outputs;
  for (int i = 0; i < rows; i += 2 * lanes) {
    V64 a[kOutputs], b[kOutputs];
    for (int k = 0; k < kOutputs; ++k) {
      a[k] = start ? hn::Set(d, theta[k * width - 1]) : hn::Load(d, out + k * out_stride + i);
      b[k] = start ? a[k] : hn::Load(d, out + k * out_stride + i + lanes);
    }
    for (std::int64_t j = 0; j < features; ++j) {
      const V64 u = load_column(d, x + j * stride + i), v = load_column(d, x + j * stride + i + lanes);
      for (int k = 0; k < kOutputs; ++k) {
        const V64 t = hn::Set(d, theta[k * width + j]);
        a[k] = hn::MulAdd(t, u, a[k]);
        b[k] = hn::MulAdd(t, v, b[k]);
      }
    }
    for (int k = 0; k < kOutputs; ++k) {
      hn::Store(a[k], d, out + k * out_stride + i);
      hn::Store(b[k], d, out + k * out_stride + i + lanes);
    }
  }
}

// Six, or such groups that the last is not left with one or two, which would wait for each other's additions.
constexpr int outputs_at_once(int left) {
  return left <= 6 ? left : left <= 8 ? 4 : left <= 10 ? 5 : 6;
}

// add_panel of `group` outputs, kMaxOutputs at most.
template <int kMaxOutputs, class T>
HWY_INLINE void add_group(int group, const T* x, const ContextMatrix& m, std::int64_t features,
                          const Outputs& outputs) {
  if (group == kMaxOutputs) return add_panel<kMaxOutputs>(x, m.stride, features, m.rows, outputs);
  if constexpr (kMaxOutputs > 1) add_group<kMaxOutputs - 1>(group, x, m, features, outputs);
}

template <class T>
HWY_INLINE void add_scores(const ContextMatrix& m, const T* data, const ScoreOutputs& outputs, bool start) {
  std::int64_t first = 0;
  do {
    const std::int64_t count = m.features - first < kPanel ? m.features - first : kPanel;
    for (int k = 0; k < outputs.count;) {
      const int group = outputs_at_once(outputs.count - k);
      add_group<6>(group, data + first * m.stride, m, count,
                   {outputs.theta + k * outputs.theta_stride + first, outputs.theta_stride,
                    outputs.out + k * outputs.out_stride, outputs.out_stride, start && first == 0});
      k += group;
    }
    first += kPanel;
  } while (first < m.features);
}

void add_scores_impl(const ContextMatrix& m, const ScoreOutputs& outputs, bool start) {
  if (m.type == FloatType::f32) {
    add_scores(m, static_cast<const float*>(m.data), outputs, start);
  } else {
    add_scores(m, static_cast<const double*>(m.data), outputs, start);
  }
}

// kFeatures context columns by kColumns coefficient columns: each loaded vector is used several times.
template <int kFeatures, int kColumns, class T>
HWY_INLINE void product_tile(const T* x, std::int64_t stride, int rows, const double* coefficients, double* out,
                             std::int64_t length) {
  const F64 d;
  V64 sums[kFeatures][kColumns];
  for (auto& row : sums) {
    for (V64& sum : row) sum = hn::Zero(d);
  }
  for (int i = 0; i < rows; i += static_cast<int>(hn::Lanes(d))) {
    V64 c[kColumns];
    for (int k = 0; k < kColumns; ++k) c[k] = hn::Load(d, coefficients + k * kBlockRows + i);
    for (int j = 0; j < kFeatures; ++j) {
      const V64 u = load_column(d, x + j * stride + i);
      for (int k = 0; k < kColumns; ++k) sums[j][k] = hn::MulAdd(u, c[k], sums[j][k]);
    }
  }
  for (int j = 0; j < kFeatures; ++j) {
    for (int k = 0; k < kColumns; ++k) out[k * length + j] = total(d, sums[j][k]);
  }
}

// Coefficient columns of a tile where there are thirty-two registers, which hold twice as many sums.
#if HWY_TARGET <= HWY_AVX3
constexpr int kWideColumns = 6;
#else
constexpr int kWideColumns = 3;
#endif

// All coefficient columns for kFeatures features, which stay in L1 or L2 meanwhile.
template <int kFeatures, class T>
HWY_INLINE void products_of(const ContextMatrix& m, const T* x, const double* coefficients, int columns, double* out,
                            std::int64_t length) {
  int c = 0;
  const auto at = [&](int column) { return coefficients + static_cast<std::int64_t>(column) * kBlockRows; };
  if constexpr (kWideColumns > 3) {
    for (; columns - c >= kWideColumns; c += kWideColumns) {
      product_tile<kFeatures, kWideColumns>(x, m.stride, m.rows, at(c), out + c * length, length);
    }
  }
  for (; columns - c == 3 || columns - c > 4; c += 3) {
    product_tile<kFeatures, 3>(x, m.stride, m.rows, at(c), out + c * length, length);
  }
  for (; columns - c >= 2; c += 2) {
    product_tile<kFeatures, 2>(x, m.stride, m.rows, at(c), out + c * length, length);
  }
  if (columns > c) product_tile<kFeatures, 1>(x, m.stride, m.rows, at(c), out + c * length, length);
}

// Tiles of kTile features, and smaller ones for the last features.
template <int kTile, class T>
HWY_INLINE void all_products(const ContextMatrix& m, const T* data, std::int64_t first, const double* coefficients,
                             int columns, double* out, std::int64_t length) {
  for (; first + kTile <= m.features; first += kTile) {
    products_of<kTile>(m, data + first * m.stride, coefficients, columns, out + first, length);
  }
  if constexpr (kTile > 1) {
    if (first < m.features) all_products<kTile / 2>(m, data, first, coefficients, columns, out, length);
  }
}

// Eight to twelve sums at a time: enough that additions never wait for each other, few enough for sixteen registers.
template <class T>
HWY_INLINE void context_products_of(const ContextMatrix& m, const T* data, const double* coefficients, int columns,
                                    double* out, std::int64_t length) {
  if (columns == 1) return all_products<8>(m, data, 0, coefficients, columns, out, length);
  all_products<4>(m, data, 0, coefficients, columns, out, length);
}

void context_products_impl(const ContextMatrix& m, const double* coefficients, int columns, double* out,
                           std::int64_t length) {
  if (m.type == FloatType::f32) {
    context_products_of(m, static_cast<const float*>(m.data), coefficients, columns, out, length);
  } else {
    context_products_of(m, static_cast<const double*>(m.data), coefficients, columns, out, length);
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(add_scores_impl);
HWY_EXPORT(context_products_impl);

void context_scores(const ContextMatrix& x, const ScoreOutputs& outputs) noexcept {
  assert(x.rows % 16 == 0 && x.rows <= kBlockRows && outputs.count >= 1);
  assert(outputs.theta != nullptr && is_column(outputs.out) && outputs.out_stride >= x.rows);
  assert(x.features == 0 || is_column(x.data));
  ensure_isa();
  ScoreOutputs after_intercept = outputs;
  ++after_intercept.theta;
  HWY_DYNAMIC_DISPATCH(add_scores_impl)(x, after_intercept, true);
}

void add_context_scores(const ContextMatrix& x, const ScoreOutputs& outputs) noexcept {
  assert(x.rows % 16 == 0 && x.rows <= kBlockRows && outputs.count >= 1 && x.features >= 1);
  assert(outputs.theta != nullptr && is_column(outputs.out) && outputs.out_stride >= x.rows);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(add_scores_impl)(x, outputs, false);
}

void context_scores(const ContextMatrix& x, const double* theta, int outputs, double* out) noexcept {
  context_scores(x, {theta, 1 + x.features, outputs, out, kBlockRows});
}

void context_products(const ContextMatrix& x, const double* coefficients, int columns, double* out,
                      std::int64_t length) noexcept {
  assert(x.rows % 16 == 0 && x.rows <= kBlockRows && length >= x.features);
  assert(is_column(coefficients) && out != nullptr);
  assert(x.features == 0 || is_column(x.data));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(context_products_impl)(x, coefficients, columns, out, length);
}

}  // namespace scrm
#endif
