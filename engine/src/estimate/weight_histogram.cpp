#include "scrm/engine/estimate/weight_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "pass/pass_plan.hpp"
#include "pass/pool.hpp"
#include "scrm/kernels/block.hpp"

namespace scrm {
namespace {

constexpr int kExponentBias = 1023, kMantissaBits = 52;

class HistogramReduction final : public SizedReduction {
 public:
  struct Counts final : Partial {
    std::vector<WeightHistogram> policies;
  };

  explicit HistogramReduction(const std::vector<NamedPolicy>& policies) : policies_(policies) {}

  ReductionBytes bytes() const override {
    ReductionBytes bytes{.partial = policies_.size() * sizeof(WeightHistogram), .help = "fewer policies at a time"};
    for (const NamedPolicy& named : policies_) bytes.scratch = std::max(bytes.scratch, named.policy->scratch_bytes());
    return bytes;
  }

  std::unique_ptr<Partial> make() const override {
    auto counts = std::make_unique<Counts>();
    counts->policies.resize(policies_.size());
    return counts;
  }

  void compute(const Block& block, Partial& out) const override {
    auto& histograms = static_cast<Counts&>(out).policies;
    const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
    alignas(kColumnAlignment) double weights[kBlockRows];
    for (std::size_t p = 0; p < policies_.size(); ++p) {
      const TargetPolicy* policy = policies_[p].policy.get();
      weights_of_policies({&policy, 1}, block, *scratch, weights);
      histograms[p] = {};
      for (int i = 0; i < block.rows; ++i) histograms[p].add(weights[i]);
    }
  }

  void merge(Partial& earlier, const Partial& later) const override {
    auto& into = static_cast<Counts&>(earlier).policies;
    const auto& from = static_cast<const Counts&>(later).policies;
    for (std::size_t p = 0; p < into.size(); ++p) into[p].merge(from[p]);
  }

  void transfer(Partial& sums, ByteStream& bytes) const override {
    scrm::transfer(bytes, static_cast<Counts&>(sums).policies);
  }

 private:
  const std::vector<NamedPolicy>& policies_;
  mutable Pool<PolicyScratch> scratch_;
};

}  // namespace

int WeightHistogram::bin_of(double weight) noexcept {
  if (!(weight > 0)) return 0;
  // The exponent and the first digit after the point, as they lie in the number.
  const auto halves = static_cast<int>(std::bit_cast<std::uint64_t>(weight) >> (kMantissaBits - 1));
  return std::clamp(halves - 2 * (kExponentBias + kLowestPower) + 1, 1, kBins - 1);
}

double WeightHistogram::lower_edge(int bin) noexcept {
  if (bin <= 0) return 0;
  const int halves = bin - 1;
  return std::ldexp(halves % 2 == 0 ? 1.0 : 1.5, kLowestPower + halves / 2);
}

void WeightHistogram::merge(const WeightHistogram& other) noexcept {
  for (std::size_t bin = 0; bin < counts_.size(); ++bin) counts_[bin] += other.counts_[bin];
}

std::vector<WeightHistogram> weight_histograms(Source& source, const std::vector<NamedPolicy>& policies,
                                               const PassOptions& pass) {
  const PassResult result = run_pass(source, HistogramReduction(policies), pass);
  if (!result.sums) return std::vector<WeightHistogram>(policies.size());
  return static_cast<const HistogramReduction::Counts&>(*result.sums).policies;
}

}  // namespace scrm
