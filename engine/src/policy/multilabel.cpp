#include "policy/policy_kinds.hpp"
#include "policy/score_matrix.hpp"
#include "scrm/kernels/densities.hpp"

namespace scrm {
namespace {

class MultilabelPolicy final : public TargetPolicy {
 public:
  MultilabelPolicy(const Policy& policy, const Schema& schema)
      : matrix_(policy, schema), labels_(policy.outputs), epsilon_(policy.epsilon), mixing_(policy.mixing) {}

  void scores(const Block& block, PolicyScratch& scratch, double* out) const override {
    matrix_.scores(block, scratch, out);
  }

  void log_density(const Block& block, PolicyScratch& scratch, double* out) const override {
    double* scores = scratch.columns(kScoresSlot, labels_);
    matrix_.scores(block, scratch, scores);
    multilabel_log_probability(block.bits, scores, labels_, epsilon_, mixing_, out);
  }

  bool has_label_probability() const override { return true; }

  void label_probability(const Block& block, PolicyScratch& scratch, double* out) const override {
    double* scores = scratch.columns(kScoresSlot, labels_);
    matrix_.scores(block, scratch, scores);
    multilabel_label_probability(block.bits, scores, labels_, epsilon_, out);
  }

  std::size_t scratch_bytes() const override { return matrix_.scratch_bytes(); }

 private:
  ScoreMatrix matrix_;
  int labels_;
  double epsilon_;
  Mixing mixing_;
};

}  // namespace

std::unique_ptr<TargetPolicy> make_multilabel_policy(const Policy& policy, const Schema& schema) {
  return std::make_unique<MultilabelPolicy>(policy, schema);
}

}  // namespace scrm
