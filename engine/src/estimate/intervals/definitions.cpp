#include "scrm/engine/estimate/interval.hpp"

namespace scrm {
namespace {

// In the order of the enumeration.
constexpr IntervalDefinition kDefinitions[] = {
    {IntervalKind::automatic, "auto", "normal when adequate, wider when the estimate is skewed; warns otherwise"},
    {IntervalKind::normal, "normal", "with many rows, none of which dominates"},
    {IntervalKind::student, "student", "the same with tens of rows"},
    {IntervalKind::bernstein, "bernstein", "always, within --outcome-range and --max-weight; wide"},
    {IntervalKind::bootstrap, "bootstrap", "outcomes are moderately skewed: quantiles of resampled estimates"},
    {IntervalKind::cressie_read, "cressie-read",
     "outcomes are rare and lie within --outcome-range: empirical likelihood, in which weights average to one"},
    {IntervalKind::clopper_pearson, "clopper-pearson",
     "within --outcome-range and --max-weight: the exact binomial interval, for rare outcomes"},
    {IntervalKind::sequence, "sequence", "however often one looks at growing logs"},
};

}  // namespace

std::span<const IntervalDefinition> all_intervals() {
  return kDefinitions;
}

const IntervalDefinition& definition_of(IntervalKind kind) {
  return kDefinitions[static_cast<std::size_t>(kind)];
}

}  // namespace scrm
