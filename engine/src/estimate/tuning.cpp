#include "estimate/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace scrm {
namespace {

// Of standard errors, for bounds that are to hold with some 95 %.
constexpr double kErrors = 2;

/// One scale of the grid: the estimate, and how far it is from that of the largest scale, which has no bias.
struct Candidate {
  double value = 0, error = 0;
  double bias = 0, bias_error = 0;
};

std::vector<Candidate> candidates_of(const GroupTable& table, std::size_t p, std::size_t t) {
  const GroupLayout& layout = table.layout;
  const std::size_t scales = layout.extra().scales.size();
  const auto terms = [&](const double* group, std::size_t s) { return group[layout.policy(p) + layout.tuned(t, s)]; };
  const std::vector<double> totals = table.totals();
  const double rows = totals[GroupLayout::kRows];
  std::vector<Candidate> out(scales);
  for (std::size_t s = 0; s < scales; ++s) {
    out[s].value = terms(totals.data(), s) / rows;
    out[s].bias = (terms(totals.data(), s) - terms(totals.data(), scales - 1)) / rows;
  }
  for (std::int64_t g = 0; g < table.groups; ++g) {
    const double* group = table.group(g);
    for (std::size_t s = 0; s < scales; ++s) {
      const double d = terms(group, s) - group[GroupLayout::kRows] * out[s].value;
      const double b = terms(group, s) - terms(group, scales - 1) - group[GroupLayout::kRows] * out[s].bias;
      out[s].error += d * d;
      out[s].bias_error += b * b;
    }
  }
  for (Candidate& one : out) {
    one.error = std::sqrt(one.error) / rows;
    one.bias_error = std::sqrt(one.bias_error) / rows;
  }
  return out;
}

/// The least bound of the mean squared error, variance plus the square of what the bias may be.
std::size_t least_error_bound(std::span<const Candidate> candidates) {
  const auto bound = [](const Candidate& one) {
    const double bias = std::abs(one.bias) + kErrors * one.bias_error;
    return one.error * one.error + bias * bias;
  };
  std::size_t best = candidates.size() - 1;
  for (std::size_t s = best; s-- > 0;) {
    if (bound(candidates[s]) < bound(candidates[best])) best = s;
  }
  return best;
}

/// SLOPE (Su, Srinath and Krishnamurthy 2020, with the constants of Tucker and Lee 2021): from the largest scale down
/// as long as the intervals of all larger ones are met.
std::size_t smallest_compatible(std::span<const Candidate> candidates) {
  const double root = std::sqrt(6.0) - 1;
  for (std::size_t s = candidates.size() - 1; s-- > 0;) {
    for (std::size_t larger = s + 1; larger < candidates.size(); ++larger) {
      const double apart = std::abs(candidates[s].value - candidates[larger].value);
      if (!(apart <= kErrors * (candidates[s].error + root * candidates[larger].error))) return s + 1;
    }
  }
  return 0;
}

}  // namespace

std::vector<double> tuning_scales(std::int64_t rows) {
  constexpr int kSteps = 11;
  std::vector<double> scales;
  for (int step = 0; step <= kSteps; ++step)
    scales.push_back(
        std::pow(static_cast<double>(std::max<std::int64_t>(rows, 2)), static_cast<double>(step) / kSteps));
  return scales;
}

void choose_scales(Tuning tuning, const OutcomeModel& model, const std::vector<NamedPolicy>& policies,
                   GroupTable& table) {
  for (std::size_t p = 0; p < policies.size(); ++p) {
    if (!model.inapplicable_reason(*policies[p].policy).empty()) continue;
    for (std::size_t t = 0; t < table.layout.extra().tuned.size(); ++t) {
      const std::vector<Candidate> candidates = candidates_of(table, p, t);
      table.layout.choose_scale(
          p, t, tuning == Tuning::slope ? smallest_compatible(candidates) : least_error_bound(candidates));
    }
  }
}

}  // namespace scrm
