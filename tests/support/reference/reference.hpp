/// Reference: the formulas of policies and estimators in long double, written as plainly as on paper, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "scrm/kernels/policy.hpp"

namespace scrm::reference {

using Real = long double;
using Reals = std::vector<Real>;

inline constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

/// θ₀ + θ·x, and Σ_{j≤k} θ_jk x_j x_k for quadratic features.
inline Real score(const double* theta, const Reals& x, FeatureMap map) {
  Real sum = *theta++;
  for (const Real value : x) sum += *theta++ * value;
  if (map == FeatureMap::linear) return sum;
  for (std::size_t j = 0; j < x.size(); ++j) {
    for (std::size_t k = j; k < x.size(); ++k) sum += *theta++ * x[j] * x[k];
  }
  return sum;
}

inline Real gaussian_log_density(Real action, Real mean, Real scale) {
  const Real z = (action - mean) / scale;
  return -z * z / 2 - std::log(scale) - std::log(2 * std::numbers::pi_v<Real>) / 2;
}

inline Real lognormal_log_density(Real action, Real mean, Real scale) {
  if (action <= 0) return -kInfinity;
  return gaussian_log_density(std::log(action), mean, scale) - std::log(action);
}

/// log((1−ε) softmax(scores)_a + ε/K).
inline Real softmax_log_probability(const Reals& scores, int action, Real epsilon) {
  const Real largest = *std::max_element(scores.begin(), scores.end());
  Real sum = 0;
  for (const Real s : scores) sum += std::exp(s - largest);
  const Real log_probability = scores[static_cast<std::size_t>(action)] - largest - std::log(sum);
  if (epsilon == 0) return log_probability;
  return std::log((1 - epsilon) * std::exp(log_probability) + epsilon / static_cast<Real>(scores.size()));
}

/// log σ(t). A long double holds e^11000, so no case needs care.
inline Real log_sigmoid(Real t) {
  return -std::log1p(std::exp(-t));
}

inline Real label_probability(bool bit, Real score, Real epsilon) {
  return (1 - epsilon) * std::exp(log_sigmoid(bit ? score : -score)) + epsilon / 2;
}

inline Real multilabel_log_probability(const std::vector<bool>& bits, const Reals& scores, Real epsilon,
                                       Mixing mixing) {
  Real sum = 0;
  for (std::size_t k = 0; k < bits.size(); ++k) {
    const bool per_label = mixing == Mixing::label && epsilon > 0;
    sum += per_label ? std::log(label_probability(bits[k], scores[k], epsilon))
                     : log_sigmoid(bits[k] ? scores[k] : -scores[k]);
  }
  if (mixing == Mixing::label || epsilon == 0) return sum;
  return std::log((1 - epsilon) * std::exp(sum) + epsilon * std::exp2(-static_cast<Real>(bits.size())));
}

inline Real sum(const Reals& values) {
  return std::accumulate(values.begin(), values.end(), Real{0});
}

inline Real mean(const Reals& values) {
  return sum(values) / static_cast<Real>(values.size());
}

/// Σ (a − ā)(b − b̄) over the first `count` pairs.
inline Real centred_products(const Reals& a, const Reals& b, std::size_t count) {
  const Reals first_a(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(count));
  const Reals first_b(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(count));
  const Real mean_a = mean(first_a), mean_b = mean(first_b);
  Real total = 0;
  for (std::size_t i = 0; i < count; ++i) total += (a[i] - mean_a) * (b[i] - mean_b);
  return total;
}

/// s² with n − 1.
inline Real sample_variance(const Reals& values) {
  return centred_products(values, values, values.size()) / static_cast<Real>(values.size() - 1);
}

struct Estimated {
  Real value = 0;
  Real standard_error = 0;
  Real range = 0;  ///< of the averaged terms
  Real noise = 0;  ///< what rounding the inputs of the standard error by one part in N may change it by, times N
};

inline Estimated average(const Reals& terms) {
  const auto [low, high] = std::minmax_element(terms.begin(), terms.end());
  const Real error = std::sqrt(sample_variance(terms) / static_cast<Real>(terms.size()));
  return {mean(terms), error, *high - *low, error};
}

template <class Term>
Reals map_rows(const Reals& w, const Reals& y, Term term) {
  Reals out;
  for (std::size_t i = 0; i < w.size(); ++i) out.push_back(term(w[i], y[i]));
  return out;
}

inline Estimated ips(const Reals& w, const Reals& y) {
  return average(map_rows(w, y, [](Real wi, Real yi) { return wi * yi; }));
}

inline Estimated clipped(const Reals& w, const Reals& y, Real clip) {
  return average(map_rows(w, y, [clip](Real wi, Real yi) { return std::min(wi, clip) * yi; }));
}

/// The fifth-largest weight, the smallest when there are fewer than five.
inline Real automatic_clip(Reals w) {
  std::sort(w.begin(), w.end(), std::greater<>());
  return w[std::min<std::size_t>(w.size(), 5) - 1];
}

inline Estimated ips_ix(const Reals& w, const Reals& y, Real alpha) {
  return average(map_rows(w, y, [alpha](Real wi, Real yi) { return wi / (1 + alpha * wi) * yi; }));
}

/// Σwy / Σw and √(Σ w² (y − value)²) / Σw. `range` is that of the terms w (y − value) / w̄, whose average the value's
/// error is to first order.
inline Estimated snips(const Reals& w, const Reals& y) {
  Estimated out;
  out.value = sum(map_rows(w, y, [](Real wi, Real yi) { return wi * yi; })) / sum(w);
  const Real value = out.value;
  const Reals squares = map_rows(w, y, [value](Real wi, Real yi) { return wi * wi * (yi - value) * (yi - value); });
  out.standard_error = std::sqrt(sum(squares)) / sum(w);
  // The value's own rounding enters as |value| √Σw² / Σw, which is all there is when one row has all the weight.
  const Real norm = std::sqrt(sum(map_rows(w, y, [](Real wi, Real) { return wi * wi; }))) / sum(w);
  out.noise = out.standard_error + std::abs(value) * norm;
  const Real scale = mean(w);
  out.range = average(map_rows(w, y, [&](Real wi, Real yi) { return wi * (yi - value) / scale; })).range;
  return out;
}

/// `excess` is S = Σ_k (w_k − 1) of every row.
inline Estimated additive(const Reals& excess, const Reals& y) {
  const Real mean_loss = mean(y);
  return average(map_rows(excess, y, [mean_loss](Real s, Real yi) { return yi + (yi - mean_loss) * s; }));
}

/// (Σw)² / Σw².
inline Real effective_sample_size(const Reals& w) {
  return sum(w) * sum(w) / sum(map_rows(w, w, [](Real wi, Real) { return wi * wi; }));
}

/// The argument in [low, high] at which an increasing function passes through zero.
template <class Function>
Real root(Real low, Real high, Function function) {
  for (int i = 0; i < 80; ++i) {
    const Real middle = (low + high) / 2;
    (function(middle) < 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// z with P(|N(0,1)| ≤ z) = level.
inline Real normal_quantile(Real level) {
  return root(0, 100, [level](Real z) { return std::erf(z / std::sqrt(Real{2})) - level; });
}

/// t with P(|T| ≤ t) = level for T of Student's distribution. With x = √ν tan φ its density is a constant times
/// cos^{ν−1} φ, which Boole's rule integrates over bounded intervals; the constant is the integral over all of them
/// (up to x = 50 where hardly anything is beyond that).
inline Real student_quantile(Real level, Real degrees) {
  const auto integral = [degrees](Real end, int intervals) {
    const Real step = end / static_cast<Real>(intervals);
    Real total = 0;
    for (int i = 0; i <= intervals; ++i) {
      const Real factor = i == 0 || i == intervals ? 7 : (i % 2 == 1 ? 32 : (i % 4 == 2 ? 12 : 14));
      total += factor * std::pow(std::cos(static_cast<Real>(i) * step), degrees - 1);
    }
    return total * step * 2 / 45;
  };
  const Real root_degrees = std::sqrt(degrees);
  const Real all = integral(degrees < 100 ? std::numbers::pi_v<Real> / 2 : std::atan(50 / root_degrees), 4000);
  return root(0, degrees < 100 ? 1000 : 50,
              [&](Real t) { return integral(std::atan(t / root_degrees), 400) / all - level; });
}

/// Half-width of the empirical Bernstein interval of Maurer and Pontil.
inline Real bernstein_half_width(const Estimated& estimate, Real rows, Real level) {
  const Real log_term = std::log(2 / (1 - level));
  return std::sqrt(2 * log_term) * estimate.standard_error + 7 * estimate.range * log_term / (3 * (rows - 1));
}

}  // namespace scrm::reference
