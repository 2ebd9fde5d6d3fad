#include "study/tally.hpp"

#include <algorithm>
#include <cmath>

namespace scrm {

void Tally::add(const Estimate& estimate, const Estimate* normal, double truth, const Diagnostics& diagnostics) {
  ++logs;
  warned += estimate.doubted;
  warned_any += !diagnostics.warnings.empty();
  warned_ess += diagnostics.warnings.size() == 1 && diagnostics.small_ess;
  if (!estimate.low || !estimate.high) return;
  if (*estimate.high < truth) {
    ++below;
  } else if (*estimate.low > truth) {
    ++above;
  } else {
    ++covered;
  }
  if (normal != nullptr && normal->low && normal->high) {
    ++compared;
    equal += estimate.low == normal->low && estimate.high == normal->high;
    width += *estimate.high - *estimate.low;
    normal_width += *normal->high - *normal->low;
    if (*normal->high > *normal->low)
      ratios.push_back((*estimate.high - *estimate.low) / (*normal->high - *normal->low));
  }
}

void Tally::add_refusal(const std::string& why) {
  ++logs;
  if (refused++ == 0) message = why;
}

void Tally::merge(const Tally& later) {
  if (refused == 0) message = later.message;
  logs += later.logs;
  covered += later.covered;
  below += later.below;
  above += later.above;
  warned += later.warned;
  warned_any += later.warned_any;
  warned_ess += later.warned_ess;
  refused += later.refused;
  compared += later.compared;
  equal += later.equal;
  width += later.width;
  normal_width += later.normal_width;
  ratios.insert(ratios.end(), later.ratios.begin(), later.ratios.end());
}

CoverageRecord Tally::record() const {
  CoverageRecord out;
  out.message = message;
  if (refused == logs) return out;
  out.logs = logs;
  const auto all = static_cast<double>(logs);
  const auto intervals = static_cast<double>(covered + below + above);
  out.warned = static_cast<double>(warned) / all;
  out.warned_any = static_cast<double>(warned_any) / all;
  out.warned_ess = static_cast<double>(warned_ess) / all;
  out.without = (all - intervals) / all;
  if (intervals == 0) return out;
  out.coverage = static_cast<double>(covered) / intervals;
  out.coverage_error = std::sqrt(out.coverage * (1 - out.coverage) / intervals);
  out.below = static_cast<double>(below) / intervals;
  out.above = static_cast<double>(above) / intervals;
  if (compared > 0) out.equals_normal = static_cast<double>(equal) / static_cast<double>(compared);
  if (normal_width > 0) out.relative_width = width / normal_width;
  if (!ratios.empty()) {
    std::vector<double> sorted = ratios;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    out.median_width = *middle;
  }
  return out;
}

}  // namespace scrm
