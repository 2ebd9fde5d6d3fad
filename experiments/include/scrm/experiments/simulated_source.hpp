/// SimulatedSource: logged rows of an environment under a policy, made anew from their keys whenever they are asked
/// for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scrm/engine/pass/source.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/io/shard/block_buffer.hpp"

namespace scrm {

class RowCache;

struct SimulateOptions {
  std::int64_t rows = 0;
  std::int64_t first_row = 0;  ///< of the deployment's stream: rows before it are left out
  RolloutKey rollout_key;
  bool float32 = false;  ///< contexts and actions are rounded to float before anything is computed from them
  /// Features that mean nothing, behind the environment's own, in a sparse context: each present with probability
  /// `density` and then N(0, 1). 0: a dense context without them.
  std::int64_t sparse_features = 0;
  double density = 0.01;
  bool label_propensity = true;  ///< multilabel: record the probability of every bit, where bits are independent
  std::shared_ptr<const RowCache> cache = {};  ///< of the same environment, where its rows are met more than once
};

/// What rows of this environment look like: propensities as log_propensity with label_propensity for multilabel
/// actions, as propensity for the others.
Schema simulated_schema(const Environment& environment, const SimulateOptions& options);

/// The policy that logs first, with zeros for features that mean nothing.
Policy first_policy(const Environment& environment, const SimulateOptions& options);

/// A policy, and how many consecutive rows it acts on.
struct PolicySegment {
  Policy policy;
  std::int64_t rows = 0;
};

/// Every row depends on (seed, rollout, row), the environment and the policy alone. Propensities are what TargetPolicy
/// computes for the same policy, to the bit, so that this policy evaluated on its own logs has weights of exactly 1.
class SimulatedSource final : public Source {
 public:
  /// `policy_name` stands in the error when the policy does not fit the environment.
  SimulatedSource(std::shared_ptr<const Environment> environment, const Policy& policy, const std::string& policy_name,
                  const SimulateOptions& options);
  /// Several policies, one after another; options.rows is the sum of their rows.
  SimulatedSource(std::shared_ptr<const Environment> environment, const std::vector<PolicySegment>& segments,
                  const std::string& policy_name, const SimulateOptions& options);

  const Schema& schema() const override { return schema_; }
  std::int64_t rows() const override { return options_.rows; }
  int group_blocks() const override { return 32; }
  std::size_t group_bytes() const override { return 0; }
  std::size_t loader_bytes() const override;
  std::unique_ptr<BlockLoader> make_loader() const override;
  std::unique_ptr<BlockGroup> fetch(std::int64_t first_block, int count) override;
  /// Throws when the policy gives a row that no reader would accept, such as an infinite action.
  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override;

 private:
  struct Loader;
  /// A segment made ready, up to row `end` of the source.
  struct PreparedSegment {
    Policy policy;
    std::unique_ptr<TargetPolicy> target;
    std::int64_t end = 0;
  };

  /// Columns of scores that the policies draw from.
  std::int64_t score_columns() const;
  void fill_context(const EnvironmentRows& rows, BlockBuffer& buffer) const;
  void act(const PreparedSegment& segment, const Block& block, Loader& loader) const;

  std::shared_ptr<const Environment> environment_;
  std::string policy_name_;
  SimulateOptions options_;
  Schema schema_;
  std::vector<PreparedSegment> segments_;
};

}  // namespace scrm
