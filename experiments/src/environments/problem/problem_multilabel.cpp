#include <array>
#include <cmath>
#include <utility>

#include "environments/problem/problem_factories.hpp"
#include "environments/problem/problem_labelled.hpp"
#include "environments/problem/supervised_policies.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/experiments/sample_actions.hpp"
#include "scrm/kernels/scores/densities.hpp"

namespace scrm {
namespace {

/// Bits are chosen, and the share of wrong ones is the loss.
class MultilabelProblem final : public LabelledProblem {
 public:
  MultilabelProblem(const LabelledContexts& rows, ProblemShape shape, std::uint64_t seed, const RunOptions& run_options,
                    double bonus)
      : LabelledProblem(rows.mapped, std::move(shape), seed, run_options) {
    Policy first = widened(fitted_bits(*rows.plain, first_policy_rows(), bonus), data().features);
    first.mixing = options().mixing;
    // The released code mixes ε in when it tests, but neither into what it learns nor into what it plays.
    if (options().protocol == Protocol::paper) first.epsilon = options().epsilon;
    set_first_policy(std::move(first));
    uniform_.kind = PolicyKind::uniform;
    uniform_.outputs = 0;
  }

  const Policy& first_policy(bool sequential) const override {
    return sequential && options().protocol == Protocol::published ? uniform_ : baseline_policy();
  }

  /// In closed form, and with ε whatever the policy itself says: that is how all methods are compared.
  double test_loss(const Policy& policy) const override {
    double wrong = 0;
    visit_test_scores(policy, [&](const FilledBlock& block, const double* scores) {
      for (int k = 0; k < data().labels; ++k) {
        for (int i = 0; i < block.rows; ++i) {
          const double score = scores[static_cast<std::int64_t>(k) * kBlockRows + i];
          const double miss = label(test(), block.first + i, k) ? -score : score;
          wrong += (1 - options().epsilon) / (1 + std::exp(-miss)) + options().epsilon / 2;
        }
      }
    });
    return wrong / static_cast<double>(test().size()) / data().labels;
  }

  RuleLoss test_loss(const ActionRule& rule) const override {
    BlockBuffer actions(acted_schema());
    std::int64_t wrong = 0;
    for (const FilledBlock& block : test_contexts()) {
      rule(block.buffer->view(0, block.rows), actions);
      for (int k = 0; k < data().labels; ++k) {
        const std::uint8_t* bits = actions.bits() + static_cast<std::int64_t>(k) * kBlockRows;
        for (int i = 0; i < block.rows; ++i) wrong += (bits[i] != 0) != label(test(), block.first + i, k);
      }
    }
    const double plain = static_cast<double>(wrong) / static_cast<double>(test().size()) / data().labels;
    return {(1 - options().epsilon) * plain + options().epsilon / 2, plain};
  }

  Policy skyline() const override {
    Policy policy = skyline_bits(data(), train());
    policy.epsilon = options().epsilon;
    policy.mixing = options().mixing;
    return policy;
  }

  std::optional<Policy> constant_policy(bool majority) const override {
    Policy policy = majority ? majority_policy(data(), train()) : zero_bits(data());
    policy.epsilon = options().epsilon;
    policy.mixing = options().mixing;
    return policy;
  }

 private:
  bool label(const std::vector<std::int64_t>& rows, std::int64_t i, int k) const {
    return data().label[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)] * data().labels + k)] != 0;
  }

  void act(const LoggingPolicy& logging_policy, const TargetPolicy& target, const FilledBlock& filled,
           ActingScratch& scratch) const override {
    if (!logging_policy.learned || options().protocol != Protocol::published) {
      return LabelledProblem::act(logging_policy, target, filled, scratch);
    }
    const Block block = acted_block(filled);
    double* scores = scratch.columns.columns(0, data().labels);
    target.scores(block, scratch.policy, scores);
    leak_labels(filled, scores);
    sample_actions(logging_policy.policy, {seed(), 0}, block, scores, false, *filled.buffer);
    record_bit_propensities(block, scores, *filled.buffer);
  }

  /// What the released code does: a bit is set with the probability of the row's true bit, and recorded so.
  void leak_labels(const FilledBlock& filled, double* scores) const {
    for (int k = 0; k < data().labels; ++k) {
      for (int i = 0; i < filled.rows; ++i) {
        double& score = scores[static_cast<std::int64_t>(k) * kBlockRows + i];
        if (!label(train(), filled.first + i / options().replays, k)) score = -score;
      }
    }
  }

  /// Propensities of the block's bits when each is set with probability σ(score).
  void record_bit_propensities(const Block& block, const double* scores, BlockBuffer& buffer) const {
    multilabel_log_probability(block.bits, scores, data().labels, 0.0, Mixing::label, buffer.propensity());
    if (schema().label_propensity) {
      multilabel_label_probability(block.bits, scores, data().labels, 0.0, buffer.label_propensity());
    }
  }

  /// The share of wrong bits of every row.
  void compute_losses(const FilledBlock& filled) const override {
    const std::uint8_t* bits = filled.buffer->bits();
    for (int i = 0; i < filled.rows; ++i) {
      int wrong = 0;
      for (int k = 0; k < data().labels; ++k) {
        wrong += (bits[static_cast<std::int64_t>(k) * kBlockRows + i] != 0) !=
                 label(train(), filled.first + i / options().replays, k);
      }
      filled.buffer->loss()[i] = static_cast<double>(wrong) / data().labels;
    }
  }

  Policy uniform_;
};

}  // namespace

std::shared_ptr<const BanditProblem> make_multilabel_problem(LabelledContexts data, ProblemShape shape,
                                                             std::uint64_t seed, const RunOptions& options,
                                                             double bonus) {
  return std::make_shared<MultilabelProblem>(data, std::move(shape), seed, options, bonus);
}

}  // namespace scrm
