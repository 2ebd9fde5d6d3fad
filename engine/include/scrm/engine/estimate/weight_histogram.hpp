/// WeightHistogram: how many rows have which weight, for pictures of what an estimate rests on.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/source.hpp"

namespace scrm {

/// Counts by weight, two bins for each power of two: mergeable, and the same in any order.
class WeightHistogram {
 public:
  static constexpr int kLowestPower = -24, kHighestPower = 24;
  /// The first bin holds weights of zero, the second and the last all that lie beyond the others.
  static constexpr int kBins = 1 + 2 * (kHighestPower - kLowestPower);

  void add(double weight) noexcept { ++counts_[static_cast<std::size_t>(bin_of(weight))]; }
  void merge(const WeightHistogram& other) noexcept;

  std::int64_t count(int bin) const { return counts_.at(static_cast<std::size_t>(bin)); }
  /// Where a bin begins; bin 0 is the single point 0, and a bin ends where the next begins.
  static double lower_edge(int bin) noexcept;
  static int bin_of(double weight) noexcept;

 private:
  std::array<std::int64_t, kBins> counts_{};
};

/// One histogram for each policy, from a pass of its own over the rows. Bad rows are left out.
std::vector<WeightHistogram> weight_histograms(Source& source, const std::vector<NamedPolicy>& policies,
                                               const PassOptions& pass);

}  // namespace scrm
