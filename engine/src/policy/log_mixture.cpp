#include "policy/log_mixture.hpp"

#include <algorithm>
#include <cmath>

namespace scrm {

void log_mixture(const Block& block, const std::vector<std::shared_ptr<const TargetPolicy>>& policies,
                 const std::vector<double>& shares, PolicyScratch& scratch, double* work, double* out) {
  std::fill_n(out, kBlockRows, -HUGE_VAL);
  for (std::size_t t = 0; t < policies.size(); ++t) {
    if (shares[t] == 0) continue;
    policies[t]->log_density(block, scratch, work);
    const double log_share = std::log(shares[t]);
    for (int i = 0; i < block.rows; ++i) {
      const double term = log_share + work[i];
      const double high = std::max(out[i], term), low = std::min(out[i], term);
      out[i] = high == -HUGE_VAL ? high : high + std::log1p(std::exp(low - high));
    }
  }
}

}  // namespace scrm
