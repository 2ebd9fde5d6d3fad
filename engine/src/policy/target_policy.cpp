#include "scrm/engine/target_policy.hpp"

#include <fmt/format.h>

#include <array>

#include "policy/policy_kinds.hpp"
#include "scrm/io/error.hpp"
#include "scrm/io/policy_file.hpp"
#include "scrm/kernels/aligned_array.hpp"
#include "scrm/kernels/elementary.hpp"
#include "scrm/kernels/weights.hpp"

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

void TargetPolicy::label_probability(const Block&, PolicyScratch&, double*) const {
  throw Error(ErrorKind::usage, "this policy has no probabilities of single labels");
}

namespace {

class TargetColumnPolicy final : public TargetPolicy {
 public:
  explicit TargetColumnPolicy(int index) : index_(index) {}

  void scores(const Block&, PolicyScratch&, double*) const override {}
  void log_density(const Block& block, PolicyScratch&, double* out) const override {
    log_array(block.targets[index_], out, kBlockRows);
  }
  void weights(const Block& block, PolicyScratch&, double* out) const override {
    weights_from_density(block, block.targets[index_], out);
  }
  std::size_t scratch_bytes() const override { return 0; }

 private:
  int index_;
};

bool fits(PolicyKind policy, ActionKind action) {
  switch (policy) {
    case PolicyKind::gaussian:
    case PolicyKind::lognormal:
      return action == ActionKind::continuous;
    case PolicyKind::softmax:
      return action == ActionKind::categorical;
    case PolicyKind::multilabel:
      return action == ActionKind::multilabel;
    case PolicyKind::uniform:
      return action != ActionKind::continuous;
  }
  return false;
}

const char* kinds_for(ActionKind action) {
  switch (action) {
    case ActionKind::continuous:
      return "gaussian or lognormal";
    case ActionKind::categorical:
      return "softmax or uniform";
    case ActionKind::multilabel:
      return "multilabel or uniform";
  }
  return "";
}

void require_fit(const Policy& policy, const Schema& schema, const std::string& name) {
  const Place place{.file = name};
  if (!fits(policy.kind, schema.action_kind)) {
    throw Error(ErrorKind::data,
                fmt::format("a {} policy cannot act on {} actions; the data needs kind = {}", to_string(policy.kind),
                            to_string(schema.action_kind), kinds_for(schema.action_kind)),
                place);
  }
  if (policy.kind == PolicyKind::uniform) return;
  if (schema.replays > 1 && (schema.action_kind == ActionKind::continuous || policy.features != FeatureMap::linear ||
                             schema.context_type != FloatType::f64)) {
    throw Error(ErrorKind::usage,
                "rows that share contexts need a softmax or multilabel policy, linear features and doubles", place);
  }
  const bool single = schema.action_kind == ActionKind::continuous;
  const int outputs = single ? 1 : schema.num_actions;
  if (policy.outputs != outputs) {
    throw Error(ErrorKind::data,
                fmt::format("theta has {} rows, the data has {} {}", policy.outputs, outputs,
                            schema.action_kind == ActionKind::multilabel ? "labels" : "actions"),
                place);
  }
  const std::int64_t wanted = 1 + mapped_features(policy.features, schema.features);
  if (policy.row_length() != wanted) {
    const std::string features =
        policy.features == FeatureMap::linear
            ? fmt::format("{} features", schema.features)
            : fmt::format("{} features and their {} products", schema.features, wanted - 1 - schema.features);
    throw Error(ErrorKind::data,
                fmt::format("theta has {} numbers{}, the data needs {}: an intercept and {}", policy.row_length(),
                            single ? "" : " a row", wanted, features),
                place);
  }
}

}  // namespace

std::unique_ptr<TargetPolicy> make_target_policy(const Policy& policy, const Schema& schema, const std::string& name) {
  require_fit(policy, schema, name);
  switch (policy.kind) {
    case PolicyKind::gaussian:
    case PolicyKind::lognormal:
      return make_normal_policy(policy);
    case PolicyKind::softmax:
      return make_softmax_policy(policy, schema);
    case PolicyKind::multilabel:
      return make_multilabel_policy(policy, schema);
    case PolicyKind::uniform:
      return make_uniform_policy(schema);
  }
  throw Error(ErrorKind::usage, "unknown kind of policy", {.file = name});
}

std::unique_ptr<TargetPolicy> make_target_column_policy(int index) {
  return std::make_unique<TargetColumnPolicy>(index);
}

}  // namespace scrm
