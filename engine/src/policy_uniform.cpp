#include <algorithm>
#include <cmath>

#include "policy_kinds.hpp"

namespace scrm {
namespace {

class UniformPolicy final : public TargetPolicy {
 public:
  explicit UniformPolicy(const Schema& schema)
      : labels_(schema.action_kind == ActionKind::multilabel ? schema.num_actions : 0),
        log_probability_(labels_ > 0 ? -labels_ * std::log(2.0) : -std::log(schema.num_actions)) {}

  void scores(const Block&, PolicyScratch&, double*) const override {}

  void log_density(const Block&, PolicyScratch&, double* out) const override {
    std::fill_n(out, kBlockRows, log_probability_);
  }

  bool has_label_probability() const override { return labels_ > 0; }

  void label_probability(const Block&, PolicyScratch&, double* out) const override {
    std::fill_n(out, static_cast<std::int64_t>(labels_) * kBlockRows, 0.5);
  }

  std::size_t scratch_bytes() const override { return 0; }

 private:
  int labels_;  // 0 for categorical actions
  double log_probability_;
};

}  // namespace

std::unique_ptr<TargetPolicy> make_uniform_policy(const Schema& schema) {
  return std::make_unique<UniformPolicy>(schema);
}

}  // namespace scrm
