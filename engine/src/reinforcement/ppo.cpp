#include <optional>

#include "reinforcement/descent.hpp"
#include "reinforcement/played_batch.hpp"

namespace scrm {
namespace {

/// Proximal policy optimisation (Schulman et al., 2017), with the loss −surrogate + value weight · squared error.
class PpoUpdate final : public PolicyUpdate {
 public:
  explicit PpoUpdate(const ReinforcementOptions& options) : options_(options) {}

  UpdateReport update(const Episodes& episodes, const UpdateKey& key, ActorCritic& agent) override {
    const std::span<double> parameters = agent.parameters();
    if (!adam_) adam_.emplace(parameters.size(), options_.ppo.rate);
    const PlayedBatch batch(episodes, agent, options_.normalize_advantages);
    Minibatches minibatches(episodes, options_.minibatch);
    ActorCriticLoss loss(agent);
    const auto next = [&](Minibatch& rows) {
      return minibatches.next(batch.old_log_probability(), batch.advantages(), options_.normalize_advantages, rows);
    };
    const int steps = descend(minibatches, key, {.epochs = options_.ppo.epochs}, *adam_, parameters, next,
                              [&](const Minibatch& rows, std::span<double> gradient) {
                                loss.proximal(rows, options_.ppo, gradient);
                                cut_norm(options_.ppo.gradient_norm, gradient);
                              });
    UpdateReport report = batch.report(agent, options_.ppo.clip);
    report.steps = steps;
    return report;
  }

 private:
  ReinforcementOptions options_;
  std::optional<Adam> adam_;
};

}  // namespace

std::unique_ptr<PolicyUpdate> make_ppo_update(const ReinforcementOptions& options) {
  return std::make_unique<PpoUpdate>(options);
}

}  // namespace scrm
