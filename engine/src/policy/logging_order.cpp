#include "scrm/engine/policy/logging_order.hpp"

#include <fmt/format.h>

#include <cmath>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Propensities are written with few digits, small ones with fewer: so rows agree within a percent, and policies where
// most rows do.
constexpr double kSameLog = 0.01;
constexpr double kAgrees = 0.9;
constexpr double kContradicts = 0.5;

/// For every policy, the share of the block's rows whose recorded propensity is what it gives them.
std::vector<double> agreement(const Block& block, const std::vector<NamedPolicy>& policies) {
  PolicyScratch scratch;
  double* density = scratch.columns(PolicyScratch::kCallerSlot, 1);
  std::vector<double> shares;
  for (const NamedPolicy& named : policies) {
    named.policy->log_density(block, scratch, density);
    int same = 0;
    for (int i = 0; i < block.rows; ++i) {
      const double recorded = block.log_propensity != nullptr ? block.log_propensity[i] : std::log(block.propensity[i]);
      if (std::abs(density[i] - recorded) <= kSameLog) ++same;
    }
    shares.push_back(static_cast<double>(same) / block.rows);
  }
  return shares;
}

}  // namespace

std::vector<std::string> check_logging_order(const std::vector<Source*>& rollouts,
                                             const std::vector<NamedPolicy>& logging_policies) {
  std::vector<std::string> warnings;
  for (std::size_t t = 0; t < rollouts.size() && t < logging_policies.size(); ++t) {
    if (rollouts[t]->blocks() == 0) continue;
    const std::unique_ptr<BlockGroup> group = rollouts[t]->fetch(0, 1);
    const std::unique_ptr<BlockLoader> loader = rollouts[t]->make_loader();
    Audit audit;
    const Block block = rollouts[t]->load(*group, 0, *loader, audit);
    if (block.rows == 0) continue;
    const std::vector<double> shares = agreement(block, logging_policies);
    if (shares[t] >= kContradicts) continue;
    for (std::size_t other = 0; other < shares.size(); ++other) {
      if (shares[other] < kAgrees) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("rollout {} of {} was logged by {}, as its recorded propensities show, not by {}; give "
                              "the logging policies in the order of the rollouts",
                              t + 1, rollouts.size(), logging_policies[other].name, logging_policies[t].name));
    }
    warnings.push_back(
        fmt::format("the recorded propensities of rollout {} of {} are not those of {}: {:.0f} % of the rows that were "
                    "looked at differ by more than 1 %",
                    t + 1, rollouts.size(), logging_policies[t].name, 100 * (1 - shares[t])));
  }
  return warnings;
}

}  // namespace scrm
