#include "policy/policy_kinds.hpp"
#include "policy/score_matrix.hpp"
#include "scrm/kernels/densities.hpp"

namespace scrm {
namespace {

class SoftmaxPolicy final : public TargetPolicy {
 public:
  SoftmaxPolicy(const Policy& policy, const Schema& schema)
      : matrix_(policy, schema), num_actions_(policy.outputs), epsilon_(policy.epsilon) {}

  void scores(const Block& block, PolicyScratch& scratch, double* out) const override {
    matrix_.scores(block, scratch, out);
  }

  void log_density(const Block& block, PolicyScratch& scratch, double* out) const override {
    double* scores = scratch.columns(kScoresSlot, num_actions_);
    matrix_.scores(block, scratch, scores);
    softmax_log_probability(block.category, scores, num_actions_, epsilon_, out);
  }

  std::size_t scratch_bytes() const override { return matrix_.scratch_bytes(); }

 private:
  ScoreMatrix matrix_;
  int num_actions_;
  double epsilon_;
};

}  // namespace

std::unique_ptr<TargetPolicy> make_softmax_policy(const Policy& policy, const Schema& schema) {
  return std::make_unique<SoftmaxPolicy>(policy, schema);
}

}  // namespace scrm
