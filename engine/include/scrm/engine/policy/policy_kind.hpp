/// Kinds of policy: what each one does, and the registry where evaluation, learning, acting and policy files find it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "scrm/engine/policy/outcome_coefficients.hpp"
#include "scrm/io/policy/policy_file.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/kernels/block.hpp"
#include "scrm/kernels/policy.hpp"
#include "scrm/kernels/scores/score_tile.hpp"
#include "scrm/kernels/vector/random.hpp"

namespace scrm {

/// A kind of policy: its parameters, its density, how it is sampled and, where it can be learned, its derivatives.
///
/// Functions work on a block; scores, densities and derivatives are aligned columns of kBlockRows whose entries past
/// block.rows mean nothing. `scores` has a column for each row of theta. One function serves many threads at once: it
/// keeps no state, and it does not throw.
struct PolicyKindDefinition {
  /// Name and parameters: all that a policy file needs to know.
  PolicyFormat format;
  /// What it can act on; several kinds of action only where it has no theta.
  std::vector<ActionKind> actions;

  /// log π(a|x) of the logged actions.
  void (*log_density)(const Policy& policy, const Block& block, const double* scores, double* out) = nullptr;
  /// Optional, for kinds with a score for each action: the same from scores in tiles, which saves holding all of them.
  /// It gets the tiles of a group of rows one after the other, the first actions first; the last gives the group's rows
  /// of `out`, to the bit what `log_density` gives.
  void (*add_tile)(const Policy& policy, const Block& block, const ScoreTile& tile, double* out) = nullptr;
  /// Optional, likewise: π(a|x) itself, or π(a|x) / p where `propensity` is not null.
  void (*add_density_tile)(const Policy& policy, const Block& block, const ScoreTile& tile, const double* propensity,
                           double* out) = nullptr;
  /// Optional: π(a|x) where it is known more exactly than as the exponential of its logarithm.
  void (*density)(const Policy& policy, const Block& block, const double* scores, double* out) = nullptr;
  /// Optional, for learning: log π(a|x) into `log_density`, and ∂ log π(a|x) / ∂ score in the place of each score.
  void (*score_gradient)(const Policy& policy, const Block& block, double* scores, double* log_density) = nullptr;

  /// Optional, for learning the scale too: ∂ log π(a|x) / ∂ log scale.
  void (*scale_gradient)(const Policy& policy, const Block& block, const double* scores, double* out) = nullptr;

  /// Optional, for learning with many actions: ∂ log π(a|x) / ∂ score in the place of each score of a tile, which may
  /// be any, once add_tile had all tiles of its rows; tile.state is as that left it. `scores` are the tile's own. Of
  /// the block it may read actions alone: others may have been left out between them.
  void (*tile_gradient)(const Policy& policy, const Block& block, const ScoreTile& tile, double* scores) = nullptr;

  /// Optional, for multilabel actions: π_k, the probability of each logged bit by itself; a column for each label.
  void (*label_probability)(const Policy& policy, const Block& block, const double* scores, double* out) = nullptr;
  /// Optional, for learning from single bits: the same into `probability`, and ∂ log π_k / ∂ score_k in the place of
  /// each score.
  void (*label_gradient)(const Policy& policy, const Block& block, double* scores, double* probability) = nullptr;

  // Optional, for expectations of what a model predicts. Continuous actions: mean and variance of each row's action.
  // Categorical ones: π(k|x) in the place of the scores of all actions of a few rows, which lie `stride` apart; without
  // a theta there are no scores, and all of them are to be set. Multilabel actions need label_probability alone.
  void (*action_moments)(const Policy& policy, const double* scores, int rows, double* mean,
                         double* variance) = nullptr;
  void (*action_probabilities)(const Policy& policy, int actions, int rows, std::int64_t stride,
                               double* scores) = nullptr;

  /// Optional, for learning with a model: the expectation of its predictions over the policy's actions into
  /// `expectation`, and its derivative by the score in the place of each score.
  void (*expectation_gradient)(const Policy& policy, const Block& block, const OutcomeCoefficients& q, double* scores,
                               double* expectation) = nullptr;

  /// Draws the action of one row from that row's own stream into the column of `actions` that fits block.action_kind.
  void (*sample)(const Policy& policy, const Block& block, const double* scores, int row, RandomStream& random,
                 BlockBuffer& actions) = nullptr;
  /// Optional, for many actions: the same draw from a tile that holds all actions of a few rows, of which `row`, a row
  /// of the block, is one.
  void (*sample_tile)(const Policy& policy, const Block& block, const ScoreTile& all, int row, RandomStream& random,
                      BlockBuffer& actions) = nullptr;
  /// Instead of `sample`, where a continuous action is a function of its score and one standard normal draw: draws that
  /// are needed again can then be kept.
  void (*actions_from_normals)(const Policy& policy, int rows, const double* scores, const double* normals,
                               double* actions) = nullptr;
  /// Optional, for continuous actions: the score of the policy that is centred at an action. Learning starts from the
  /// mean of the logged ones, where weights do not vanish.
  double (*centre)(double action) = nullptr;
};

/// Adds a kind, which from then on is like a built-in one. To be called before policies are in use: the registry is
/// read without a lock. Throws a usage error when the name is taken or something required is missing.
void register_policy_kind(const PolicyKindDefinition& kind);

/// All kinds, built-in ones first, in the order in which they were registered. References stay valid.
const std::deque<PolicyKindDefinition>& policy_kinds();

/// The kind of this name; a usage error lists those there are.
const PolicyKindDefinition& policy_kind(PolicyKind kind);

/// Names as a sentence lists them: "a", "a or b", "a, b or c".
std::string names_of_kinds(const std::vector<const PolicyKindDefinition*>& kinds);

/// Reads a policy of any registered kind; errors name file, line and key.
Policy read_policy(const std::string& path);

/// The text of its file; `comment` lines go on top.
std::string policy_text(const Policy& policy, const std::string& comment = {});

/// Writes atomically.
void write_policy(const std::string& path, const Policy& policy, const std::string& comment = {});

}  // namespace scrm
