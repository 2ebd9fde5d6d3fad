/// The kinds of policy, one file each: policy_KIND.cpp. A new kind adds its file, a line here and one in
/// target_policy.cpp.
#pragma once

#include <memory>

#include "scrm/engine/target_policy.hpp"

namespace scrm {

/// Scratch slots of policies, after the caller's: scores, a panel of contexts as doubles, and products of a gradient.
enum ScratchSlot { kScoresSlot = PolicyScratch::kCallerSlot + 1, kPanelSlot, kProductSlot, kScratchSlots };

/// Whether gaussian_weights applies to the block.
inline bool has_fused_weights(const Block& block) noexcept {
  return block.sparse.indptr == nullptr && block.features > 0;
}

std::unique_ptr<TargetPolicy> make_normal_policy(const Policy& policy);
std::unique_ptr<TargetPolicy> make_softmax_policy(const Policy& policy, const Schema& schema);
std::unique_ptr<TargetPolicy> make_multilabel_policy(const Policy& policy, const Schema& schema);
std::unique_ptr<TargetPolicy> make_uniform_policy(const Schema& schema);

}  // namespace scrm
