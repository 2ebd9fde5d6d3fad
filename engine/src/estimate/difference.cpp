#include "estimate/difference.hpp"

#include <fmt/format.h>

#include <cmath>

#include "scrm/io/file/error.hpp"

namespace scrm {

Baseline find_baseline(const std::string& name, const std::vector<NamedPolicy>& policies) {
  if (name.empty()) return {};
  if (name == kLoggedBaseline) return {.kind = Baseline::Kind::logged};
  std::string names = kLoggedBaseline;
  for (std::size_t p = 0; p < policies.size(); ++p) {
    if (policies[p].name == name) return {.kind = Baseline::Kind::policy, .policy = p};
    names += ", " + policies[p].name;
  }
  throw Error(
      ErrorKind::usage,
      fmt::format("the baseline '{}' is none of the policies that are evaluated; choose among {}", name, names));
}

DifferencePoint difference_point(const Estimator& estimator) {
  if (estimator.difference != nullptr) return estimator.difference;
  return estimator.point == mean_of_terms ? mean_of_term_differences : nullptr;
}

FinalDifference add_held_rows(const DifferenceSums& sums, const WeightOptions& rules, const DifferenceClips& clips,
                              bool logged) {
  const bool automatic = rules.clip == 0;
  // Outside the rows that are held every weight lies below its automatic M.
  FinalDifference out{.ips = sums.ips, .clipped = automatic ? sums.ips : sums.clipped, .ix = sums.ix};
  for (int h = 0; h < sums.held.count; ++h) {
    const DifferenceTerms terms =
        difference_terms(sums.held.rows[static_cast<std::size_t>(h)], rules.alpha, clips, logged);
    out.ips.merge(terms.ips);
    out.clipped.merge(terms.clipped);
    out.ix.merge(terms.ix);
  }
  return out;
}

namespace {

// Of a weight: what exponentials and logarithms leave, and what propensities lose that went through text.
constexpr double kComputed = 1e-12, kRecorded = 1e-9;

}  // namespace

bool agree_everywhere(const DifferenceSums& sums, double rows, bool logged) {
  const double rounding = logged ? kRecorded : kComputed;
  double squares = std::ldexp(sums.squared_difference.weight, 2 * sums.squared_difference.exponent);
  for (int h = 0; h < sums.held.count; ++h) {
    const PairedRow& row = sums.held.rows[static_cast<std::size_t>(h)];
    squares += (row.weight - row.baseline) * (row.weight - row.baseline);
  }
  return squares <= rounding * rounding * rows;
}

bool is_rounding(const PointEstimate& difference, double rows, const Moments& loss) {
  if (!difference.undefined_reason.empty()) return false;
  const double size = std::hypot(loss.true_mean(), rows > 1 ? loss.standard_deviation() : 0.0);
  const double spread = rows > 1 ? difference.standard_error * std::sqrt(rows) : 0.0;
  return std::hypot(difference.value, spread) <= kRecorded * size;
}

}  // namespace scrm
