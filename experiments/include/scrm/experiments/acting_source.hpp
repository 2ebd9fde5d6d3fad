/// ActingSource: contexts with an action drawn by a policy for each, and how likely it was.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "scrm/engine/pass/source.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/experiments/environment.hpp"

namespace scrm {

/// Rows of these contexts once the policy has acted: `propensity` for continuous and categorical actions,
/// `log_propensity` for multilabel ones, with `label_propensity` where bits are independent (not where epsilon is mixed
/// in jointly). `action_kind` and `num_actions` count for policies that do not say what they choose among.
Schema acted_schema(const Policy& policy, const Schema& contexts, ActionKind action_kind, int num_actions);

/// Whether a policy says by itself what it chooses among: numbers, or one action for each row of theta.
bool says_its_actions(const Policy& policy);

/// What was done, over all rows loaded so far.
struct ActionTotals {
  std::int64_t rows = 0;
  double sum = 0;                    ///< continuous: of the actions
  std::vector<std::int64_t> counts;  ///< categorical: rows of each action; multilabel: rows with each bit set
  /// Actions drawn with a probability above 0.99; of multilabel ones the bits, where they are independent.
  std::int64_t decided = 0;
};

/// The action of a row depends on (seed, rollout, row), its context and the policy alone. A bad context throws, since
/// leaving out its row would shift those behind it.
class ActingSource final : public Source {
 public:
  /// `contexts` must outlive this. Throws an Error that names `policy_name` when the policy does not fit.
  ActingSource(Source& contexts, const Schema& schema, const Policy& policy, const std::string& policy_name,
               const RolloutKey& rollout_key);

  const Schema& schema() const override { return schema_; }
  std::int64_t rows() const override { return contexts_.rows(); }
  int group_blocks() const override { return contexts_.group_blocks(); }
  std::size_t group_bytes() const override;
  std::size_t loader_bytes() const override;
  std::unique_ptr<BlockLoader> make_loader() const override;
  std::unique_ptr<BlockGroup> fetch(std::int64_t first_block, int count) override;
  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override;

  /// Each row counts once, however often it was loaded; the same bits at any thread count.
  ActionTotals totals() const;

 private:
  struct Group;
  struct Loader;
  void count(std::int64_t index, const Block& block) const;

  Source& contexts_;
  Schema schema_;
  Policy policy_;
  std::string policy_name_;
  RolloutKey rollout_key_;
  std::unique_ptr<TargetPolicy> target_;

  // Shards smaller than a block ask for the same block again and again, and it may come from many files.
  std::shared_ptr<BlockGroup> last_block_;
  std::int64_t last_index_ = -1;

  // Totals are taken as blocks go by, so that a summary does not cost another pass.
  struct BlockTotal {
    int rows = -1;  // not loaded yet
    double sum = 0;
    std::int64_t decided = 0;
  };
  mutable std::mutex totals_mutex_;
  mutable std::vector<BlockTotal> block_totals_;
  mutable std::vector<std::int64_t> counts_;
};

}  // namespace scrm
