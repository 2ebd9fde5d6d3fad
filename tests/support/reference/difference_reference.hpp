/// Paired differences of two policies, or of one and the logged actions, in long double.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "scrm/engine/estimate/evaluate.hpp"
#include "support/reference/reference.hpp"

namespace scrm::testing {

/// One side of a difference as the reference sees it: weights, or none for the logged actions.
struct Side {
  reference::Reals w;       ///< empty: the logged actions
  reference::Reals excess;  ///< S of the additive estimator

  bool logged() const { return w.empty(); }
};

/// d of every row for an estimator that averages t(w) y; t of the logged actions is one.
template <class Transform>
reference::Estimated paired(const Side& a, const Side& b, const reference::Reals& y, Transform a_term,
                            Transform b_term) {
  reference::Reals d;
  for (std::size_t i = 0; i < y.size(); ++i) {
    d.push_back((a_term(a.w[i]) - (b.logged() ? reference::Real{1} : b_term(b.w[i]))) * y[i]);
  }
  return reference::average(d);
}

/// Σwy/Σw − Σuy/Σu, with the root of Σ d² over n, d = w (y − S) / w̄ − u (y − R) / ū.
inline reference::Estimated paired_snips(const Side& a, const Side& b, const reference::Reals& y) {
  const reference::Reals u = b.logged() ? reference::Reals(y.size(), 1) : b.w;
  const reference::Real s = reference::snips(a.w, y).value, r = reference::snips(u, y).value;
  reference::Estimated out;
  out.value = s - r;
  const reference::Real mean_w = reference::mean(a.w), mean_u = reference::mean(u);
  reference::Real total = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const reference::Real d = a.w[i] * (y[i] - s) / mean_w - u[i] * (y[i] - r) / mean_u;
    total += d * d;
  }
  out.standard_error = y.size() < 2 ? std::numeric_limits<reference::Real>::quiet_NaN()
                                    : std::sqrt(total) / static_cast<reference::Real>(y.size());
  out.range =
      reference::snips(a.w, y).range + (b.logged() ? reference::average(y).range : reference::snips(u, y).range);
  out.noise = reference::snips(a.w, y).noise + reference::snips(u, y).noise;
  return out;
}

inline reference::Estimated paired_additive(const Side& a, const Side& b, const reference::Reals& y) {
  const reference::Real mean_y = reference::mean(y);
  reference::Reals d;
  for (std::size_t i = 0; i < y.size(); ++i) {
    d.push_back((y[i] - mean_y) * (a.excess[i] - (b.logged() ? reference::Real{0} : b.excess[i])));
  }
  return reference::average(d);
}

using Expected = std::map<std::string, reference::Estimated>;

inline Expected expected_differences(const Side& a, const Side& b, const reference::Reals& y,
                                     const EvaluateOptions& options) {
  const reference::Real alpha = options.alpha ? *options.alpha : 1 / static_cast<reference::Real>(y.size());
  const auto clip = [&](const Side& side) {
    return options.clip || side.logged() ? reference::Real{options.clip.value_or(1)}
                                         : reference::automatic_clip(side.w);
  };
  using Transform = std::function<reference::Real(reference::Real)>;
  const auto clipped_at = [](reference::Real most) { return [most](reference::Real w) { return std::min(w, most); }; };
  const Transform plain = [](reference::Real w) { return w; };
  const Transform ix = [alpha](reference::Real w) { return w / (1 + alpha * w); };
  Expected out = {{"ips", paired(a, b, y, plain, plain)},
                  {"clipped", paired<Transform>(a, b, y, clipped_at(clip(a)), clipped_at(clip(b)))},
                  {"snips", paired_snips(a, b, y)},
                  {"ips-ix", paired(a, b, y, ix, ix)}};
  if (!a.excess.empty() && (b.logged() || !b.excess.empty())) out["additive"] = paired_additive(a, b, y);
  return out;
}

}  // namespace scrm::testing
