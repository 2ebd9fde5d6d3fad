#include "methods/reinforcement_learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

ReinforcementOptions options_of(const LearnerSetup& setup) {
  ReinforcementOptions options = setup.options.reinforcement;
  options.pretraining.entropy_weight = setup.runs.front().lambda.value;
  return options;
}

std::string without_independent_bits(const ProblemFactory& environment, const RunOptions& options) {
  const bool joint = options.mixing == Mixing::joint && options.epsilon > 0;
  return environment.action_kind == ActionKind::multilabel && joint
             ? "mixing = \"joint\" makes its bits depend on each other, and an actor's bits are independent"
             : "";
}

const std::optional<std::vector<double>>& entropy_weights(const RunOptions& options) {
  return options.entropy_weights;
}

}  // namespace

ReinforcementLearner::ReinforcementLearner(const LearnerSetup& setup, MakePolicyUpdate make_update)
    : options_(options_of(setup)),
      seed_(setup.seed),
      stop_(setup.stop),
      rollouts_(setup.options.rollouts),
      update_(make_update(options_)),
      policy_(setup.problem.start()) {}

void ReinforcementLearner::learn(Source& rows, int batch) {
  Episodes episodes = read_episodes(rows);
  if (episodes.rows() == 0) return;
  const bool first = !agent_;
  if (first) agent_.emplace(policy_, units_of(episodes));
  standardize(agent_->units(), episodes);
  // A run in its last rollout is nearly done and may end.
  const UpdateKey key{seed_, batch, batch + 1 < rollouts_ ? stop_ : StopToken{}};
  const UpdateReport report =
      first ? pretrain(episodes, options_, key, *agent_) : update_->update(episodes, key, *agent_);
  try {
    policy_ = agent_->policy();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("batch {}: {}", batch, error.what()));
  }
  metrics_.clear();
  if (!first) metrics_ = {{"kl", report.kl}, {"surrogate", report.surrogate}};
  const double reward_unit = agent_->units().reward.spread;
  metrics_["value_loss"] = report.value_loss * reward_unit * reward_unit;
  metrics_["entropy"] = report.entropy;
  metrics_["steps"] = report.steps;
  if (episodes.action_kind == ActionKind::continuous) {
    metrics_["scale"] = policy_.scale;
    metrics_["entropy"] += std::log(agent_->units().action.spread);
  }
  rows_read_ += static_cast<double>(rows.rows());
}

double ReinforcementLearner::test_loss(const BanditProblem& problem, std::size_t) const {
  const double loss = problem.test_loss(policy_);
  if (std::isfinite(loss)) return loss;
  throw Error(ErrorKind::run, fmt::format("the learned policy's test loss is {}; use a smaller learning rate", loss));
}

MethodResources reinforcement_resources(const ProblemShape& shape, const RunOptions& options, double actor_passes,
                                        double critic_passes) {
  const Schema& schema = shape.schema;
  std::int64_t most = 0;
  for (int batch = 0; batch < options.rollouts; ++batch) most = std::max(most, shape.batch_rows(batch));
  const std::int64_t outputs = schema.action_kind == ActionKind::continuous ? 1 : schema.num_actions;
  const std::int64_t weights = (outputs + 1) * (1 + schema.features);
  MethodResources resources;
  // Parameters, their gradient, and two means of Adam's; TRPO's searches have as many vectors.
  resources.bytes = episode_bytes(schema, most) + static_cast<std::size_t>(8 * weights) * sizeof(double);
  const double first = static_cast<double>(options.reinforcement.minibatch) * options.reinforcement.pretraining.steps;
  const double all = static_cast<double>(shape.rows_before.at(static_cast<std::size_t>(options.rollouts)));
  const auto width = static_cast<double>(1 + schema.features), columns = static_cast<double>(outputs);
  resources.cost = (first * (columns + 1) + all * (actor_passes * columns + critic_passes)) * width * sizeof(double);
  resources.hint = schema.features > 1000 ? "use fewer features, such as projection = 300"
                                          : "use fewer rollouts, or growth = \"linear\"";
  return resources;
}

MethodEntry reinforcement_method(const char* name, const char* description, decltype(MethodEntry::make) make,
                                 decltype(MethodEntry::resources) resources) {
  return {
      .name = name,
      .description = description,
      .make = make,
      .has_lambda = true,
      .learns = true,
      .deploys = true,
      .incremental = true,
      .inapplicable_reason = without_independent_bits,
      .hyperparameter = "entropy weight",
      .lambdas = {0.1, 0.2, 0.5, 1, 2, 5, 10},  // those that the paper's protocol tries
      .given_lambdas = entropy_weights,
      .resources = resources,
  };
}

}  // namespace scrm
