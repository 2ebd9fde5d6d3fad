#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "reinforcement/conjugate_gradients.hpp"
#include "reinforcement/descent.hpp"
#include "reinforcement/played_batch.hpp"

namespace scrm {
namespace {

// A surrogate that gains nothing but rounding has no direction worth a step.
constexpr double kLeastSquare = 1e-10;
constexpr double kNoClip = std::numeric_limits<double>::infinity();

/// Trust-region policy optimisation (Schulman et al., 2015): the longest step along F⁻¹g whose KL stays within the
/// target and whose surrogate gains, then the critic.
class TrpoUpdate final : public PolicyUpdate {
 public:
  explicit TrpoUpdate(const ReinforcementOptions& options) : options_(options) {}

  UpdateReport update(const Episodes& episodes, const UpdateKey& key, ActorCritic& agent) override {
    const PlayedBatch batch(episodes, agent, options_.normalize_advantages);
    const bool moved = move_actor(batch, agent);
    fit_critic(episodes, key, agent);
    UpdateReport report = batch.report(agent, kNoClip);
    report.steps = moved ? 1 : 0;
    return report;
  }

 private:
  /// False, and the actor as it was, where no step is any good.
  bool move_actor(const PlayedBatch& batch, ActorCritic& agent) const {
    const TrpoOptions& trpo = options_.trpo;
    const auto damped_fisher = [&](std::span<const double> v, std::span<double> out) {
      batch.fisher_product(v, out);
      for (std::size_t j = 0; j < v.size(); ++j) out[j] += trpo.damping * v[j];
    };
    const std::vector<double> gradient = batch.surrogate_gradient();
    const std::vector<double> direction =
        conjugate_gradients(damped_fisher, gradient, trpo.conjugate_steps, kLeastSquare);
    std::vector<double> product(direction.size());
    damped_fisher(direction, product);
    const double curvature = dot(direction, product);
    if (!(curvature > 0)) return false;
    const double longest = std::sqrt(2 * trpo.kl / curvature), before = batch.surrogate(agent, kNoClip);
    const std::span<double> actor = agent.parameters().first(direction.size());
    const std::vector<double> start(actor.begin(), actor.end());
    double step = longest;
    for (int trial = 0; trial < trpo.backtracks; ++trial, step *= trpo.shrink) {
      for (std::size_t j = 0; j < actor.size(); ++j) actor[j] = start[j] + step * direction[j];
      if (batch.surrogate(agent, kNoClip) > before && batch.divergence(agent) <= trpo.kl) return true;
    }
    std::copy(start.begin(), start.end(), actor.begin());
    return false;
  }

  void fit_critic(const Episodes& episodes, const UpdateKey& key, ActorCritic& agent) {
    const std::span<double> critic = agent.parameters().last(static_cast<std::size_t>(agent.width()));
    if (!adam_) adam_.emplace(critic.size(), options_.trpo.critic_rate);
    Minibatches minibatches(episodes, options_.minibatch);
    ActorCriticLoss loss(agent);
    descend(minibatches, key, {.epochs = options_.trpo.critic_epochs}, *adam_, critic,
            [&](const Minibatch& rows, std::span<double> gradient) { loss.value(rows, gradient); });
  }

  ReinforcementOptions options_;
  std::optional<Adam> adam_;  // of the critic
};

}  // namespace

std::unique_ptr<PolicyUpdate> make_trpo_update(const ReinforcementOptions& options) {
  return std::make_unique<TrpoUpdate>(options);
}

}  // namespace scrm
