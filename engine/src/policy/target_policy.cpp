#include "scrm/engine/policy/target_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "policy/context_panel.hpp"
#include "policy/kinds/policy_kinds.hpp"
#include "policy/score_matrix.hpp"
#include "policy/score_tiles.hpp"
#include "scrm/engine/policy/match_names.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"
#include "scrm/kernels/vector/elementary.hpp"
#include "scrm/kernels/weights/weights.hpp"

namespace scrm {

struct PolicyScratch::Buffers {
  struct Slot {
    AlignedArray<double> memory;
    std::size_t size = 0;
  };
  std::array<Slot, kScratchSlots> slots;
};

PolicyScratch::PolicyScratch() : buffers_(std::make_unique<Buffers>()) {}
PolicyScratch::~PolicyScratch() = default;
PolicyScratch::PolicyScratch(PolicyScratch&&) noexcept = default;
PolicyScratch& PolicyScratch::operator=(PolicyScratch&&) noexcept = default;

double* PolicyScratch::columns(int slot, std::int64_t count) {
  auto& [memory, size] = buffers_->slots.at(static_cast<std::size_t>(slot));
  const std::size_t wanted = static_cast<std::size_t>(count) * kBlockRows;
  if (size < wanted) {
    memory = make_aligned<double>(wanted);
    size = wanted;
  }
  return memory.get();
}

void TargetPolicy::density(const Block& block, PolicyScratch& scratch, double* out) const {
  log_density(block, scratch, out);
  exp_array(out, out, kBlockRows);
}

void TargetPolicy::weights(const Block& block, PolicyScratch& scratch, double* out) const {
  log_density(block, scratch, out);
  weights_from_log_density(block, out, out);
}

void weights_of_policies(std::span<const TargetPolicy* const> policies, const Block& block, PolicyScratch& scratch,
                         double* out) {
  std::size_t p = 0;
  while (p < policies.size()) {
    std::array<LinearGaussian, kPolicyBatch> batch;
    std::size_t count = 0;
    while (has_fused_weights(block) && count < batch.size() && p + count < policies.size()) {
      batch[count] = policies[p + count]->linear_gaussian();
      if (batch[count].theta == nullptr) break;
      ++count;
    }
    double* columns = out + p * kBlockRows;
    if (count > 0) {
      gaussian_weights(block, batch.data(), static_cast<int>(count), columns);
    } else {
      policies[p]->weights(block, scratch, columns);
      count = 1;
    }
    p += count;
  }
}

void TargetPolicy::tile_scores(const Block&, const ScoreRange&) const {
  throw Error(ErrorKind::usage, "this policy has no scores of single actions");
}

void TargetPolicy::label_probability(const Block&, PolicyScratch&, double*) const {
  throw Error(ErrorKind::usage, "this policy has no probabilities of single labels");
}

void TargetPolicy::action_moments(const Block&, PolicyScratch&, double*, double*) const {
  throw Error(ErrorKind::usage, "this policy has no mean action");
}

void TargetPolicy::action_probabilities(const Block&, int, int, double*) const {
  throw Error(ErrorKind::usage, "this policy has no probabilities of single actions");
}

namespace {

class TargetColumnPolicy final : public TargetPolicy {
 public:
  explicit TargetColumnPolicy(int index) : index_(index) {}

  void scores(const Block&, PolicyScratch&, double*) const override {}
  void log_density(const Block& block, PolicyScratch&, double* out) const override {
    log_array(block.targets[index_], out, kBlockRows);
  }
  void density(const Block& block, PolicyScratch&, double* out) const override {
    std::copy_n(block.targets[index_], kBlockRows, out);
  }
  void weights(const Block& block, PolicyScratch&, double* out) const override {
    weights_from_density(block, block.targets[index_], out);
  }
  std::optional<int> target_column() const override { return index_; }
  bool reads_context_by_row() const override { return true; }
  std::size_t scratch_bytes() const override { return 0; }

 private:
  int index_;
};

/// A policy of a registered kind: the scores of a block, and what its kind makes of them.
class ScoredPolicy final : public TargetPolicy {
 public:
  ScoredPolicy(const Policy& policy, const PolicyKindDefinition& kind, const Schema& schema)
      : matrix_(policy, schema),
        kind_(kind),
        multilabel_(schema.action_kind == ActionKind::multilabel),
        shared_contexts_(schema.replays > 1) {}

  void scores(const Block& block, PolicyScratch& scratch, double* out) const override {
    const bool one = kind_.format.theta == ThetaRows::one && policy().features != FeatureMap::fourier;
    if (one) return block_scores(block, policy().features, policy().theta.data(), out);
    if (kind_.format.theta != ThetaRows::none) matrix_.scores(block, scratch, out);
  }

  bool has_tile_scores(const Block& block) const override {
    return kind_.format.theta == ThetaRows::per_action && block.replays == 1;
  }

  void tile_scores(const Block& block, const ScoreRange& range) const override { matrix_.scores(block, range); }

  void log_density(const Block& block, PolicyScratch& scratch, double* out) const override {
    if (has_tiles(policy(), block)) return tiled_log_density(matrix_, block, out);
    kind_.log_density(policy(), block, own_scores(block, scratch), out);
  }

  void density(const Block& block, PolicyScratch& scratch, double* out) const override {
    if (has_tiled_density(policy(), block)) return tiled_density(matrix_, block, out);
    if (kind_.density == nullptr) return TargetPolicy::density(block, scratch, out);
    kind_.density(policy(), block, own_scores(block, scratch), out);
  }

  void weights(const Block& block, PolicyScratch& scratch, double* out) const override {
    const LinearGaussian self = linear_gaussian();
    if (self.theta != nullptr && has_fused_weights(block)) return gaussian_weights(block, &self, 1, out);
    if (has_tiled_density(policy(), block)) {
      TileStates states;
      return tiled_weights(matrix_, block, states, out);
    }
    if (kind_.density == nullptr || block.log_propensity != nullptr) return TargetPolicy::weights(block, scratch, out);
    density(block, scratch, out);
    weights_from_density(block, out, out);
  }

  bool has_label_probability() const override { return multilabel_ && kind_.label_probability != nullptr; }

  void label_probability(const Block& block, PolicyScratch& scratch, double* out) const override {
    if (!has_label_probability()) return TargetPolicy::label_probability(block, scratch, out);
    kind_.label_probability(policy(), block, own_scores(block, scratch), out);
  }

  bool has_action_moments() const override { return kind_.action_moments != nullptr; }

  void action_moments(const Block& block, PolicyScratch& scratch, double* mean, double* variance) const override {
    if (!has_action_moments()) return TargetPolicy::action_moments(block, scratch, mean, variance);
    kind_.action_moments(policy(), own_scores(block, scratch), block.rows, mean, variance);
  }

  bool has_action_probabilities() const override {
    return !multilabel_ && kind_.action_probabilities != nullptr && !shared_contexts_;
  }

  void action_probabilities(const Block& block, int first_row, int rows, double* out) const override {
    if (!has_action_probabilities()) return TargetPolicy::action_probabilities(block, first_row, rows, out);
    if (has_tile_scores(block)) {
      matrix_.scores(
          block,
          {.first_row = first_row, .rows = rows, .outputs = policy().outputs, .out = out, .stride = kScoreTileRows});
    }
    kind_.action_probabilities(policy(), block.num_actions, rows, kScoreTileRows, out);
  }

  // Probabilities of single labels come from columns.
  bool reads_context_by_row() const override {
    return TargetPolicy::reads_context_by_row() ||
           (kind_.add_tile != nullptr && matrix_.has_context_tiles() && !has_label_probability());
  }

  LinearGaussian linear_gaussian() const override {
    const bool applies = policy().kind == PolicyKind::gaussian && policy().features == FeatureMap::linear;
    return applies ? LinearGaussian{policy().theta.data(), policy().scale} : LinearGaussian{};
  }

  std::size_t scratch_bytes() const override {
    constexpr std::size_t kColumnBytes = kBlockRows * sizeof(double);
    // Scores of mapped contexts go by panels, those of shared contexts have a column for contexts and one for rows.
    const std::size_t panel = policy().features == FeatureMap::quadratic ? kPanelColumns * kColumnBytes : 0;
    if (kind_.add_tile != nullptr && !shared_contexts_ && !has_label_probability()) return panel;
    return panel + (shared_contexts_ ? 2 : 1) * static_cast<std::size_t>(policy().outputs) * kColumnBytes;
  }

 private:
  const Policy& policy() const { return matrix_.policy(); }
  const double* own_scores(const Block& block, PolicyScratch& scratch) const {
    double* columns = scratch.columns(kScoresSlot, policy().outputs);
    scores(block, scratch, columns);
    return columns;
  }

  ScoreMatrix matrix_;
  const PolicyKindDefinition& kind_;
  bool multilabel_;
  bool shared_contexts_;
};

bool acts_on(const PolicyKindDefinition& kind, ActionKind action) {
  return std::find(kind.actions.begin(), kind.actions.end(), action) != kind.actions.end();
}

std::string kinds_for(ActionKind action) {
  std::vector<const PolicyKindDefinition*> fitting;
  for (const PolicyKindDefinition& kind : policy_kinds()) {
    if (acts_on(kind, action)) fitting.push_back(&kind);
  }
  return names_of_kinds(fitting);
}

void require_fit(const Policy& policy, const PolicyKindDefinition& kind, const Schema& schema,
                 const std::string& name) {
  const Place place{.file = name};
  if (!acts_on(kind, schema.action_kind)) {
    throw Error(ErrorKind::data,
                fmt::format("a {} policy cannot act on {} actions; the data needs kind = {}", policy.kind.name(),
                            to_string(schema.action_kind), kinds_for(schema.action_kind)),
                place);
  }
  if (kind.format.theta == ThetaRows::none) return;
  const bool single = kind.format.theta == ThetaRows::one;
  if (schema.replays > 1 &&
      (single || policy.features != FeatureMap::linear || schema.context_type != FloatType::f64)) {
    throw Error(ErrorKind::usage,
                "rows that share contexts need a softmax or multilabel policy, linear features and doubles", place);
  }
  const int outputs = single ? 1 : schema.num_actions;
  if (policy.outputs != outputs) {
    throw Error(ErrorKind::data,
                fmt::format("theta has {}, the data has {}", count_of(policy.outputs, "row"),
                            count_of(outputs, schema.action_kind == ActionKind::multilabel ? "label" : "action")),
                place);
  }
  if (schema.features == 0 && policy.row_length() > 1) {
    throw Error(ErrorKind::data,
                fmt::format("needs features (theta has {}{}), but the data has no context: no dataset of that name",
                            count_of(policy.row_length(), "number"), single ? "" : " a row"),
                place);
  }
  if (policy.features == FeatureMap::fourier && schema.sparse) {
    throw Error(ErrorKind::data, "its fourier features need dense contexts, and the data's are sparse", place);
  }
  const FourierFeatures& fourier_map = policy.fourier;
  const std::size_t inputs =
      fourier_map.columns.empty() ? static_cast<std::size_t>(schema.features) : fourier_map.columns.size();
  for (const std::vector<double>* numbers : {&fourier_map.centre, &fourier_map.spread}) {
    if (numbers->empty() || numbers->size() == inputs ||
        policy.row_length() != 1 + mapped_features(policy, schema.features))
      continue;
    throw Error(ErrorKind::data,
                fmt::format("centre and spread of its fourier features have {}, for {}",
                            count_of(numbers->size(), "number"), count_of(inputs, "feature")),
                place);
  }
  const std::int64_t wanted = 1 + mapped_features(policy, schema.features);
  if (policy.row_length() != wanted) {
    const bool fourier = policy.features == FeatureMap::fourier;
    const std::string features =
        policy.features == FeatureMap::linear
            ? count_of(schema.features, "feature")
            : fmt::format("{} and {}{}", count_of(schema.features, "feature"), fourier ? "" : "their ",
                          count_of(wanted - 1 - schema.features, fourier ? "fourier feature" : "product"));
    throw Error(ErrorKind::data,
                fmt::format("theta has {}{}, the data needs {}: an intercept and {}",
                            count_of(policy.row_length(), "number"), single ? "" : " a row", wanted, features),
                place);
  }
}

}  // namespace

std::unique_ptr<TargetPolicy> make_target_policy(const Policy& policy, const Schema& schema, const std::string& name) {
  const PolicyKindDefinition& kind = policy_kind(policy.kind);
  const Policy matched = match_names(policy, schema, name);
  require_fit(matched, kind, schema, name);
  return std::make_unique<ScoredPolicy>(matched, kind, schema);
}

std::unique_ptr<TargetPolicy> make_target_column_policy(int index) {
  return std::make_unique<TargetColumnPolicy>(index);
}

}  // namespace scrm
