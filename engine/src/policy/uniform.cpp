#include <algorithm>
#include <cmath>

#include "policy/policy_kinds.hpp"
#include "scrm/kernels/weights.hpp"

namespace scrm {
namespace {

class UniformPolicy final : public TargetPolicy {
 public:
  explicit UniformPolicy(const Schema& schema)
      : labels_(schema.action_kind == ActionKind::multilabel ? schema.num_actions : 0),
        probability_(labels_ > 0 ? std::exp2(-labels_) : 1.0 / schema.num_actions),
        log_probability_(labels_ > 0 ? -labels_ * std::log(2.0) : -std::log(schema.num_actions)) {}

  void scores(const Block&, PolicyScratch&, double*) const override {}

  void log_density(const Block&, PolicyScratch&, double* out) const override {
    std::fill_n(out, kBlockRows, log_probability_);
  }

  // From the probability itself: logs that state it as 1/K get weights of exactly one.
  void weights(const Block& block, PolicyScratch& scratch, double* out) const override {
    if (block.log_propensity != nullptr) return TargetPolicy::weights(block, scratch, out);
    std::fill_n(out, kBlockRows, probability_);
    weights_from_density(block, out, out);
  }

  bool has_label_probability() const override { return labels_ > 0; }

  void label_probability(const Block&, PolicyScratch&, double* out) const override {
    std::fill_n(out, static_cast<std::int64_t>(labels_) * kBlockRows, 0.5);
  }

  std::size_t scratch_bytes() const override { return 0; }

 private:
  int labels_;  // 0 for categorical actions
  double probability_;
  double log_probability_;
};

}  // namespace

std::unique_ptr<TargetPolicy> make_uniform_policy(const Schema& schema) {
  return std::make_unique<UniformPolicy>(schema);
}

}  // namespace scrm
