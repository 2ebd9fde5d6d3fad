#include "report/learning/acting_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "report/inspection.hpp"
#include "report/terminal.hpp"

namespace scrm {
namespace {

/// Whether at least so many events are too many for chance alone, which would bring `expected` of them: less likely
/// than one in a hundred (a Poisson distribution).
bool is_no_chance(std::size_t events, double expected) {
  constexpr double kMany = 100;  // twice as many are then far out
  if (static_cast<double>(events) < 2 * expected) return false;
  if (expected > kMany) return true;
  double term = std::exp(-expected), fewer = 0;
  for (std::size_t k = 0; k < events && term > 0; ++k) {
    fewer += term;
    term *= expected / static_cast<double>(k + 1);
  }
  return events > 0 && fewer > 0.99;
}

}  // namespace

std::string exploration_warning(const std::string& policy, const Schema& schema, const ActionTotals& totals) {
  if (schema.action_kind == ActionKind::continuous || schema.num_actions < 1 || totals.rows == 0) return "";
  const bool labels = schema.action_kind == ActionKind::multilabel;
  if (!labels && schema.num_actions == 1) return "";
  constexpr std::size_t kListed = 5;
  std::vector<std::string> missing;
  for (std::size_t k = 0; k < totals.counts.size(); ++k) {
    if (totals.counts[k] == 0 || (labels && totals.counts[k] == totals.rows)) missing.push_back(action_name(schema, k));
  }
  const auto rows = static_cast<double>(totals.rows);
  const double actions = schema.num_actions;
  // Of few rows even a uniform policy would leave some out.
  const double by_chance = labels ? actions * std::exp2(1 - rows) : actions * std::exp(-rows / actions);
  if (is_no_chance(missing.size(), by_chance)) {
    const auto count = static_cast<std::int64_t>(missing.size());
    const bool cut = missing.size() > kListed;
    if (cut) missing.resize(kListed);
    return fmt::format(
        "{} of {} never {} ({}{}): nothing can be learned about {} from these rows; a larger epsilon in "
        "{} would keep trying",
        counted(count, labels ? "label" : "action"), with_commas(schema.num_actions), labels ? "varied" : "taken",
        fmt::join(missing, ", "), cut ? ", ..." : "", count == 1 ? "it" : "them", policy);
  }
  constexpr double kNearlyAll = 0.9;
  const double decided = static_cast<double>(totals.decided) / rows / (labels ? actions : 1);
  if (decided <= kNearlyAll) return "";
  return fmt::format(
      "{} more than 99 % in {:.3g} % of these rows, which hardly show what anything else would have "
      "done; a larger epsilon in {} keeps exploring",
      labels ? "of a label's two values one has" : "one action has", 100 * decided, policy);
}

}  // namespace scrm
