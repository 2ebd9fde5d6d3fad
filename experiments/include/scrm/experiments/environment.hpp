/// Environment: a generative model of contexts and of the losses of actions, every row drawn from its key.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "scrm/experiments/batch_plan.hpp"
#include "scrm/experiments/run_options.hpp"
#include "scrm/kernels/block.hpp"
#include "scrm/kernels/policy.hpp"
#include "scrm/kernels/vector/random.hpp"

namespace scrm {

/// Key of the rows of one rollout. The same seed and rollout give the same rows; another rollout gives fresh ones.
struct RolloutKey {
  std::uint64_t seed = 0;
  int rollout = 0;  ///< in [0, kMaxRollout]
};
inline constexpr int kMaxRollout = (1 << 24) - 1;

/// What a random number is for: each purpose has a stream of its own, so that a policy that draws more numbers for its
/// actions meets the same contexts and losses.
enum class StreamPurpose : std::uint8_t { context = 1, action, loss, sparse_context, parameters };

/// The stream of one row. Rollout and purpose share the stream's number: 24 and 8 bits.
inline RandomStream row_stream(const RolloutKey& rollout_key, StreamPurpose purpose, std::int64_t row) noexcept {
  const auto stream = static_cast<std::uint32_t>(rollout_key.rollout) << 8 | static_cast<std::uint32_t>(purpose);
  return {rollout_key.seed, stream, static_cast<std::uint64_t>(row)};
}

/// Up to kBlockRows rows of a rollout, columns kBlockRows apart as in a Block.
struct EnvironmentRows {
  RolloutKey rollout_key;
  std::int64_t first_row = 0;
  int rows = 0;
  double* context = nullptr;  ///< features() columns that the policy sees
  double* state = nullptr;  ///< state_columns() columns that it does not: with the context they fix every action's loss
};

/// Pure functions of their arguments: one object serves all threads.
class Environment {
 public:
  virtual ~Environment() = default;

  virtual ActionKind action_kind() const noexcept { return ActionKind::continuous; }
  /// Categories or labels; 0 for continuous actions.
  virtual int num_actions() const noexcept { return 0; }
  virtual std::int64_t features() const noexcept = 0;
  virtual int state_columns() const noexcept = 0;

  /// The policy that logged the first batch.
  virtual Policy first_policy() const = 0;

  /// What learning starts from under a seed.
  virtual Policy start_policy(std::uint64_t seed) const;
  /// What the protocol says about learning here.
  virtual RunOptions defaults() const { return {}; }
  /// The exact expected loss of a policy, where there is a formula.
  virtual std::optional<double> expected_loss(const Policy&) const { return std::nullopt; }
  /// A policy like start_policy() that none of its kind beats, where one is known.
  virtual std::optional<Policy> best_policy() const { return std::nullopt; }

  /// Fills context and state of every row.
  virtual void draw(const EnvironmentRows& rows) const noexcept = 0;
  /// The loss of one action per row: `actions` holds the column that fits action_kind(). The context may have been
  /// rounded since it was drawn; what is given counts.
  virtual void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept = 0;
  /// Continuous actions: the standard normal draw by which every row's action is drawn.
  virtual void action_normals(const EnvironmentRows& rows, double* out) const noexcept;
  /// Continuous actions: the standard normal draws by which tests act, a column for each of `draws` draws.
  virtual void test_normals(const EnvironmentRows& rows, int draws, double* out) const noexcept;
  /// Whether optimal_actions() says anything. Without it there is no skyline.
  virtual bool has_optimal_actions() const noexcept { return false; }
  /// The action that is right for each row, for those who may look: a number, a category, or for labels a column of
  /// bits each. What contexts tell about it is what a skyline plays.
  virtual void optimal_actions(const EnvironmentRows&, double*) const noexcept {}
};

struct EnvironmentOptions {
  std::uint64_t seed = 0;  ///< for environments with random parameters
  int num_actions = 0;     ///< categories or labels; 0: the environment's default
  /// What the released code does differently. gaussian: all rows of a batch of this plan share one y; advertising: test
  /// actions are drawn with numbers that drew the potentials before.
  std::optional<BatchPlan> published = {};
};

/// What is particular to a labelled data set.
struct LabelledTraits {
  double bonus = 0;          ///< added to every coefficient of the first policy, so that it is not too good
  bool unit_length = false;  ///< rows are scaled to length one
};

/// One environment of the list that `scrm simulate` and sweep files choose from: it draws its rows (`make`), or it is
/// made of labelled data (`files`), which sweeps alone can use.
struct EnvironmentEntry {
  std::string name;
  std::string description;
  std::unique_ptr<Environment> (*make)(const EnvironmentOptions&) = nullptr;
  std::vector<std::vector<std::string>> files = {};  ///< it may come in: the first list whose files are all there
  LabelledTraits traits = {};
};

/// EnvironmentEntry::make of an environment that takes its options, or has none.
template <class OwnEnvironment>
std::unique_ptr<Environment> make_environment([[maybe_unused]] const EnvironmentOptions& options) {
  if constexpr (std::is_constructible_v<OwnEnvironment, const EnvironmentOptions&>) {
    return std::make_unique<OwnEnvironment>(options);
  } else {
    return std::make_unique<OwnEnvironment>();
  }
}

/// All environments, in the order people should read them.
const std::deque<EnvironmentEntry>& environments();

/// Adds one behind the others; a usage Error where the name is taken. To be called before anything runs.
void register_environment(EnvironmentEntry entry);

/// Makes the environment of that name that draws its rows; a usage Error says which there are.
std::unique_ptr<Environment> make_environment(const std::string& name, const EnvironmentOptions& options);

}  // namespace scrm
