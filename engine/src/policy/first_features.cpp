#include "scrm/engine/policy/first_features.hpp"

#include <cassert>
#include <optional>
#include <utility>

namespace scrm {
namespace {

/// What is not forwarded, its own loops over several policies and contexts row by row, makes things faster and changes
/// no number.
class OnFirstFeatures final : public TargetPolicy {
 public:
  OnFirstFeatures(std::shared_ptr<const TargetPolicy> policy, std::int64_t features)
      : policy_(std::move(policy)), features_(features) {}

  void scores(const Block& block, PolicyScratch& scratch, double* out) const override {
    policy_->scores(narrowed(block), scratch, out);
  }
  bool has_tile_scores(const Block& block) const override { return policy_->has_tile_scores(narrowed(block)); }
  void tile_scores(const Block& block, const ScoreRange& range) const override {
    policy_->tile_scores(narrowed(block), range);
  }
  void log_density(const Block& block, PolicyScratch& scratch, double* out) const override {
    policy_->log_density(narrowed(block), scratch, out);
  }
  void density(const Block& block, PolicyScratch& scratch, double* out) const override {
    policy_->density(narrowed(block), scratch, out);
  }
  void weights(const Block& block, PolicyScratch& scratch, double* out) const override {
    policy_->weights(narrowed(block), scratch, out);
  }
  bool has_label_probability() const override { return policy_->has_label_probability(); }
  void label_probability(const Block& block, PolicyScratch& scratch, double* out) const override {
    policy_->label_probability(narrowed(block), scratch, out);
  }
  bool has_action_moments() const override { return policy_->has_action_moments(); }
  void action_moments(const Block& block, PolicyScratch& scratch, double* mean, double* variance) const override {
    policy_->action_moments(narrowed(block), scratch, mean, variance);
  }
  bool has_action_probabilities() const override { return policy_->has_action_probabilities(); }
  void action_probabilities(const Block& block, int first_row, int rows, double* out) const override {
    policy_->action_probabilities(narrowed(block), first_row, rows, out);
  }
  std::optional<int> target_column() const override { return policy_->target_column(); }
  bool reads_context_by_row() const override { return false; }
  std::size_t scratch_bytes() const override { return policy_->scratch_bytes(); }

 private:
  /// Columns lie one after another, so that fewer of them are the first ones.
  Block narrowed(const Block& block) const {
    assert(block.features >= features_ && block.sparse.indptr == nullptr);
    Block out = block;
    out.features = features_;
    return out;
  }

  std::shared_ptr<const TargetPolicy> policy_;
  std::int64_t features_;
};

}  // namespace

std::shared_ptr<const TargetPolicy> on_first_features(std::shared_ptr<const TargetPolicy> policy,
                                                      std::int64_t features) {
  return std::make_shared<OnFirstFeatures>(std::move(policy), features);
}

}  // namespace scrm
