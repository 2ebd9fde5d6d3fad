#include <cstdint>

#include "policy/policy_kinds.hpp"
#include "scrm/kernels/densities.hpp"
#include "scrm/kernels/gaussian_weights.hpp"
#include "scrm/kernels/scores.hpp"

namespace scrm {
namespace {

/// gaussian and lognormal: they differ only in whether the action or its logarithm is normal.
class NormalPolicy final : public TargetPolicy {
 public:
  explicit NormalPolicy(const Policy& policy) : policy_(policy) {}

  void scores(const Block& block, PolicyScratch&, double* out) const override {
    block_scores(block, policy_.features, policy_.theta.data(), out);
  }

  void log_density(const Block& block, PolicyScratch& scratch, double* out) const override {
    scores(block, scratch, out);
    if (policy_.kind == PolicyKind::gaussian) {
      gaussian_log_density(block.action, out, policy_.scale, out);
    } else {
      lognormal_log_density(block.action, out, policy_.scale, out);
    }
  }

  void weights(const Block& block, PolicyScratch& scratch, double* out) const override {
    const LinearGaussian self = linear_gaussian();
    if (self.theta == nullptr || !has_fused_weights(block)) return TargetPolicy::weights(block, scratch, out);
    gaussian_weights(block, &self, 1, out);
  }

  LinearGaussian linear_gaussian() const override {
    const bool applies = policy_.kind == PolicyKind::gaussian && policy_.features == FeatureMap::linear;
    return applies ? LinearGaussian{policy_.theta.data(), policy_.scale} : LinearGaussian{};
  }

  std::size_t scratch_bytes() const override { return 0; }

 private:
  Policy policy_;
};

}  // namespace

std::unique_ptr<TargetPolicy> make_normal_policy(const Policy& policy) {
  return std::make_unique<NormalPolicy>(policy);
}

}  // namespace scrm
