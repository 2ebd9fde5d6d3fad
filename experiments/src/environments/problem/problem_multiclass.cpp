#include <algorithm>
#include <cmath>
#include <utility>

#include "environments/problem/problem_factories.hpp"
#include "environments/problem/problem_labelled.hpp"
#include "environments/problem/supervised_policies.hpp"

namespace scrm {
namespace {

/// A class is chosen, and the loss is 1 where it is not the row's own. The paper has no such problems, nor has its
/// released code: both protocols are the same here.
class MulticlassProblem final : public LabelledProblem {
 public:
  MulticlassProblem(const LabelledContexts& rows, ProblemShape shape, std::uint64_t seed, const RunOptions& run_options)
      : LabelledProblem(rows.mapped, std::move(shape), seed, run_options) {
    set_first_policy(with_epsilon(widened(fitted_classes(*rows.plain, first_policy_rows()), data().features)));
  }

  /// In closed form, and with ε whatever the policy itself says: that is how all methods are compared.
  double test_loss(const Policy& policy) const override {
    double right = 0;
    visit_test_scores(policy, [&](const FilledBlock& block, const double* scores) {
      for (int i = 0; i < block.rows; ++i) {
        double largest = scores[i], sum = 0;
        for (int k = 1; k < data().labels; ++k) largest = std::max(largest, score(scores, k, i));
        for (int k = 0; k < data().labels; ++k) sum += std::exp(score(scores, k, i) - largest);
        right += std::exp(score(scores, category(test(), block.first + i), i) - largest) / sum;
      }
    });
    return mixed(1 - right / static_cast<double>(test().size()));
  }

  RuleLoss test_loss(const ActionRule& rule) const override {
    BlockBuffer actions(acted_schema());
    std::int64_t wrong = 0;
    for (const FilledBlock& block : test_contexts()) {
      rule(block.buffer->view(0, block.rows), actions);
      for (int i = 0; i < block.rows; ++i) wrong += actions.category()[i] != category(test(), block.first + i);
    }
    const double plain = static_cast<double>(wrong) / static_cast<double>(test().size());
    return {mixed(plain), plain};
  }

  Policy skyline() const override { return with_epsilon(skyline_classes(data(), train())); }

  std::optional<Policy> constant_policy(bool majority) const override {
    if (!majority) return std::nullopt;
    return with_epsilon(majority_policy(data(), train()));
  }

 private:
  static double score(const double* scores, int k, int row) {
    return scores[static_cast<std::int64_t>(k) * kBlockRows + row];
  }

  Policy with_epsilon(Policy policy) const {
    policy.epsilon = options().epsilon;
    policy.mixing = options().mixing;
    return policy;
  }

  /// A loss when a share ε of the actions is uniform instead.
  double mixed(double loss) const {
    const double uniform = 1 - 1.0 / data().labels;
    return (1 - options().epsilon) * loss + options().epsilon * uniform;
  }

  std::int32_t category(const std::vector<std::int64_t>& rows, std::int64_t i) const {
    return data().category[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])];
  }

  void compute_losses(const FilledBlock& filled) const override {
    for (int i = 0; i < filled.rows; ++i) {
      const bool right = filled.buffer->category()[i] == category(train(), filled.first + i / options().replays);
      filled.buffer->loss()[i] = right ? 0.0 : 1.0;
    }
  }
};

}  // namespace

std::shared_ptr<const BanditProblem> make_multiclass_problem(LabelledContexts data, ProblemShape shape,
                                                             std::uint64_t seed, const RunOptions& options) {
  return std::make_shared<MulticlassProblem>(data, std::move(shape), seed, options);
}

}  // namespace scrm
