#include <limits>

#include "reinforcement/descent.hpp"
#include "reinforcement/played_batch.hpp"

namespace scrm {

UpdateReport pretrain(const Episodes& episodes, const ReinforcementOptions& options, const UpdateKey& key,
                      ActorCritic& agent) {
  const PlayedBatch start(episodes, agent, options.normalize_advantages);
  const std::span<double> parameters = agent.parameters();
  Adam adam(parameters.size(), options.pretraining.rate);
  Minibatches minibatches(episodes, options.minibatch);
  ActorCriticLoss loss(agent);
  const int steps = descend(minibatches, key, {.steps = options.pretraining.steps}, adam, parameters,
                            [&](const Minibatch& rows, std::span<double> gradient) {
                              loss.cloning(rows, options.pretraining.entropy_weight, gradient);
                            });
  UpdateReport report = start.report(agent, std::numeric_limits<double>::infinity());
  report.steps = steps;
  return report;
}

}  // namespace scrm
