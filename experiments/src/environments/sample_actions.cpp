#include "scrm/experiments/sample_actions.hpp"

#include "scrm/engine/policy/policy_kind.hpp"

namespace scrm {

void sample_actions(const Policy& policy, const RolloutKey& rollout_key, const Block& block, const double* scores,
                    bool float32, BlockBuffer& buffer, const double* normals) {
  const PolicyKindDefinition& kind = policy_kind(policy.kind);
  const auto stream = [&](int row) { return row_stream(rollout_key, StreamPurpose::action, block.first_row + row); };
  if (kind.actions_from_normals != nullptr) {
    alignas(kColumnAlignment) double drawn[kBlockRows];
    if (normals == nullptr) {
      for (int i = 0; i < block.rows; ++i) drawn[i] = stream(i).normal();
      normals = drawn;
    }
    kind.actions_from_normals(policy, block.rows, scores, normals, buffer.action());
  } else {
    for (int i = 0; i < block.rows; ++i) {
      RandomStream random = stream(i);
      kind.sample(policy, block, scores, i, random, buffer);
    }
  }
  if (!float32 || block.action_kind != ActionKind::continuous) return;
  double* action = buffer.action();
  for (int i = 0; i < block.rows; ++i) action[i] = static_cast<double>(static_cast<float>(action[i]));
}

}  // namespace scrm
