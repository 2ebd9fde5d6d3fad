#include <limits>

#include "reinforcement/adam.hpp"
#include "reinforcement/minibatches.hpp"
#include "reinforcement/played_batch.hpp"

namespace scrm {

UpdateReport pretrain(const Episodes& episodes, const ReinforcementOptions& options, const UpdateKey& key,
                      ActorCritic& agent) {
  const PlayedBatch start(episodes, agent, options.normalize_advantages);
  const std::span<double> parameters = agent.parameters();
  Adam adam(parameters.size(), options.pretraining.rate);
  Minibatches minibatches(episodes, options.minibatch);
  ActorCriticLoss loss(agent);
  std::vector<double> gradient(parameters.size());
  int steps = 0;
  for (int epoch = 0; steps < options.pretraining.steps; ++epoch) {
    key.stop.check();
    minibatches.shuffle(key, epoch);
    for (Minibatch rows; steps < options.pretraining.steps && minibatches.next(rows); ++steps) {
      loss.cloning(rows, options.pretraining.entropy_weight, gradient);
      adam.step(gradient, parameters);
    }
  }
  UpdateReport report = start.report(agent, std::numeric_limits<double>::infinity());
  report.steps = steps;
  return report;
}

}  // namespace scrm
