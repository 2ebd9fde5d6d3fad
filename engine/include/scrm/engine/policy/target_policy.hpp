/// TargetPolicy: a policy prepared to score blocks, whatever its kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scrm/io/shard/schema.hpp"
#include "scrm/kernels/block.hpp"
#include "scrm/kernels/policy.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/weights/gaussian_weights.hpp"

namespace scrm {

/// Working memory of one thread for one or many policies: aligned columns that grow on first use and are then reused.
class PolicyScratch {
 public:
  PolicyScratch();
  ~PolicyScratch();
  PolicyScratch(PolicyScratch&&) noexcept;
  PolicyScratch& operator=(PolicyScratch&&) noexcept;

  /// The slot that policies leave to their callers.
  static constexpr int kCallerSlot = 0;

  /// `count` columns of kBlockRows doubles, aligned; slots keep apart what is alive at the same time.
  double* columns(int slot, std::int64_t count);

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

/// π(a|x) for the logged actions of a block. Immutable: one object serves all threads, each with its own scratch.
/// Results are columns of kBlockRows, aligned as those of PolicyScratch are; entries past block.rows mean nothing.
class TargetPolicy {
 public:
  virtual ~TargetPolicy() = default;

  /// The scores of every row, a column for each row of theta, as sampling needs them. Nothing where there is no theta.
  virtual void scores(const Block& block, PolicyScratch& scratch, double* out) const = 0;
  /// Whether tile_scores is defined for the block: a score for each action, and rows that share no contexts.
  virtual bool has_tile_scores(const Block&) const { return false; }
  /// Scores of some rows and outputs alone. Rows as ScoreTile has them.
  virtual void tile_scores(const Block& block, const ScoreRange& range) const;
  /// log π(a|x) of every row's logged action.
  virtual void log_density(const Block& block, PolicyScratch& scratch, double* out) const = 0;
  /// π(a|x), to the bit what weights divide: a policy that logged it gets weights of exactly one.
  virtual void density(const Block& block, PolicyScratch& scratch, double* out) const;
  /// w = π(a|x) / propensity of every row.
  virtual void weights(const Block& block, PolicyScratch& scratch, double* out) const;
  /// Whether label_probability is defined: multilabel policies whose bits have probabilities of their own.
  virtual bool has_label_probability() const { return false; }
  /// Probability of each logged bit by itself; K columns.
  virtual void label_probability(const Block& block, PolicyScratch& scratch, double* out) const;
  /// Whether action_moments is defined: continuous actions whose mean and variance are known.
  virtual bool has_action_moments() const { return false; }
  virtual void action_moments(const Block& block, PolicyScratch& scratch, double* mean, double* variance) const;
  /// Whether action_probabilities is defined: categorical actions.
  virtual bool has_action_probabilities() const { return false; }
  /// π(k|x) of all actions for a few rows, as ScoreTile has them: action k begins at out + k * kScoreTileRows.
  virtual void action_probabilities(const Block& block, int first_row, int rows, double* out) const;
  /// The target column whose probabilities it has, where it is an outside policy.
  virtual std::optional<int> target_column() const { return {}; }
  /// Mean and scale of a policy that is gaussian with linear features; one without a theta for all others.
  virtual LinearGaussian linear_gaussian() const { return {}; }
  /// Whether weights() takes blocks whose context lies row by row (Block::context_by_row). Nobody has audited that:
  /// unless the policy is a target column, a context that is not finite makes its row's weight NaN.
  virtual bool reads_context_by_row() const { return linear_gaussian().theta != nullptr; }
  /// Bytes of scratch that a thread needs.
  virtual std::size_t scratch_bytes() const = 0;
};

/// Weights of several policies, a column each, to the bit what each gives alone: linear gaussian policies that follow
/// each other share one loop over the context. kPolicyBatch is how many are best asked for at once.
void weights_of_policies(std::span<const TargetPolicy* const> policies, const Block& block, PolicyScratch& scratch,
                         double* out);
inline constexpr int kPolicyBatch = 4;

/// Prepares a policy for data of this schema. `name` stands in errors: action kind or dimension that does not fit.
std::unique_ptr<TargetPolicy> make_target_policy(const Policy& policy, const Schema& schema, const std::string& name);

/// The outside policy whose probabilities are target column `index` of the schema.
std::unique_ptr<TargetPolicy> make_target_column_policy(int index);

}  // namespace scrm
