// labels: fast
// PPO, TRPO and pretraining on whole batches: trust regions, degenerate rows, and that they learn.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "reinforcement/conjugate_gradients.hpp"
#include "reinforcement/played_batch.hpp"
#include "scrm/engine/reinforcement/policy_update.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/io/file/error.hpp"
#include "support/episodes.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

std::vector<Policy> policies() {
  return {drawn_policy(PolicyKind::gaussian, 1, 3, 0, 1), drawn_policy(PolicyKind::gaussian, 1, 0, 0, 1),
          drawn_policy(PolicyKind::multilabel, 4, 3, 0.1, 2), drawn_policy(PolicyKind::softmax, 3, 2, 0.1, 4)};
}

ActorCritic agent_of(const Policy& policy) {
  limit_openblas_to_one_thread();
  return {policy, plain_units(policy.row_length() - 1)};
}

double mean_reward(const Episodes& episodes) {
  double sum = 0;
  for (const double reward : episodes.rewards) sum += reward;
  return sum / static_cast<double>(episodes.rows());
}

/// Without ε, with which played_episodes does not play.
Policy without_epsilon(Policy policy) {
  policy.epsilon = 0;
  return policy;
}

using MakeUpdate = std::unique_ptr<PolicyUpdate> (*)(const ReinforcementOptions&);
constexpr MakeUpdate kUpdates[] = {make_ppo_update, make_trpo_update};

}  // namespace

TEST_CASE("played batch: fisher products are the curvature of the divergence, by parameters") {
  for (const Policy& policy : policies()) {
    for (const int replays : {1, 4}) {
      CAPTURE(policy.kind.name());
      ActorCritic agent = agent_of(policy);
      const Episodes episodes = played_episodes(policy, 60, replays, 3);
      const PlayedBatch batch(episodes, agent, true);
      const auto size = static_cast<std::size_t>(agent.actor_size());
      std::mt19937_64 random(4);
      std::vector<double> direction(size), other(size), product(size);
      for (double& d : direction) d = normal(random);
      for (double& d : other) d = normal(random);
      batch.fisher_product(direction, product);
      const double h = 1e-3;
      const auto kl = [&](double a, double b) {
        ActorCritic there = agent;
        for (std::size_t j = 0; j < size; ++j) there.parameters()[j] += a * direction[j] + b * other[j];
        return batch.divergence(there);
      };
      // The mixed second difference along both directions is direction' F other.
      const double mixed = (kl(h, h) - kl(h, -h) - kl(-h, h) + kl(-h, -h)) / (4 * h * h);
      CHECK(dot(product, other) == doctest::Approx(mixed).epsilon(1e-4));
    }
  }
}

TEST_CASE("played batch: the surrogate's gradient agrees with finite differences") {
  for (const Policy& policy : policies()) {
    for (const int replays : {1, 4}) {
      CAPTURE(policy.kind.name());
      ActorCritic agent = agent_of(policy);
      const Episodes episodes = played_episodes(policy, 60, replays, 3);
      const PlayedBatch batch(episodes, agent, true);
      const std::vector<double> gradient = batch.surrogate_gradient();
      for (std::size_t j = 0; j < gradient.size(); ++j) {
        ActorCritic above = agent, below = agent;
        above.parameters()[j] += 1e-6;
        below.parameters()[j] -= 1e-6;
        const double slope = (batch.surrogate(above, INFINITY) - batch.surrogate(below, INFINITY)) / 2e-6;
        CHECK(gradient[j] == doctest::Approx(slope).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("trpo: every step stays within its trust region and never lowers the surrogate") {
  // Within small regions the quadratic model of the divergence is good; in large ones, of few rows, steps must shrink.
  for (const double kl : {0.01, 1.0}) {
    ReinforcementOptions options;
    options.trpo.kl = kl;
    if (kl == 1.0) options.trpo.damping = 1e-3;
    for (const Policy& start : policies()) {
      CAPTURE(kl);
      CAPTURE(start.kind.name());
      ActorCritic agent = agent_of(start);
      const auto trpo = make_trpo_update(options);
      int steps = 0;
      for (int rollout = 1; rollout <= 30; ++rollout) {
        const Episodes episodes =
            played_episodes(without_epsilon(agent.policy()), 12, 1, 100 + static_cast<std::uint64_t>(rollout));
        const UpdateReport report = trpo->update(episodes, {1, rollout}, agent);
        CHECK(report.kl <= 1.5 * options.trpo.kl);
        CHECK(report.surrogate >= -1e-12);
        if (report.steps > 0) CHECK(report.surrogate > 0);
        if (report.steps == 0) CHECK(report.kl == 0);
        steps += static_cast<int>(report.steps);
      }
      CHECK(steps > 10);
    }
  }
}

TEST_CASE("conjugate gradients: solve within as many steps as there are dimensions") {
  // A = diag(1..5) + all ones.
  const MatrixProduct product = [](std::span<const double> v, std::span<double> out) {
    double sum = 0;
    for (const double x : v) sum += x;
    for (std::size_t j = 0; j < v.size(); ++j) out[j] = static_cast<double>(j + 1) * v[j] + sum;
  };
  const std::vector<double> b = {1, -2, 3, 0.5, 4};
  const std::vector<double> x = conjugate_gradients(product, b, 5, 0);
  std::vector<double> out(5);
  product(x, out);
  for (std::size_t j = 0; j < 5; ++j) CHECK(out[j] == doctest::Approx(b[j]).epsilon(1e-10));
  for (const double y : conjugate_gradients(product, std::vector<double>(5, 0.0), 5, 1e-10)) CHECK(y == 0);
}

TEST_CASE("ppo, trpo: earn more, batch after batch") {
  ReinforcementOptions options;
  options.ppo.rate = 3e-3;
  options.trpo.kl = 0.05;
  for (const MakeUpdate make : kUpdates) {
    for (const Policy& start : policies()) {
      CAPTURE(start.kind.name());
      ActorCritic agent = agent_of(start);
      const auto update = make(options);
      const double before = mean_reward(played_episodes(without_epsilon(start), 4000, 1, 1));
      for (int rollout = 1; rollout <= 20; ++rollout) {
        const Episodes episodes =
            played_episodes(without_epsilon(agent.policy()), 512, 1, static_cast<std::uint64_t>(rollout));
        update->update(episodes, {1, rollout}, agent);
      }
      // Rewards spread by about 1; the mean of 4,000 is known to 0.02.
      CHECK(mean_reward(played_episodes(without_epsilon(agent.policy()), 4000, 1, 1)) > before + 0.1);
    }
  }
}

TEST_CASE("pretraining: without entropy it clones who played; with entropy the clone explores more") {
  const Policy played = drawn_policy(PolicyKind::gaussian, 1, 2, 0, 8);
  Policy start = played;
  start.theta.assign(3, 0.0);
  start.scale = 2;
  const Episodes episodes = played_episodes(played, 2000, 1, 5);
  double scale[3] = {};
  const double weights[3] = {0, 0.5, 2};
  for (int i = 0; i < 3; ++i) {
    ReinforcementOptions options;
    options.pretraining.entropy_weight = weights[i];
    options.pretraining.steps = 600;
    ActorCritic agent = agent_of(start);
    pretrain(episodes, options, {1, 0}, agent);
    scale[i] = agent.policy().scale;
    if (i > 0) continue;
    for (std::size_t j = 0; j < 3; ++j) CHECK(agent.policy().theta[j] == doctest::Approx(played.theta[j]).epsilon(0.1));
  }
  CHECK(scale[0] == doctest::Approx(0.7).epsilon(0.05));
  // s/sqrt(1 − w) is where the gradient vanishes for w below 1.
  CHECK(scale[1] == doctest::Approx(0.7 * std::sqrt(2.0)).epsilon(0.05));
  CHECK(scale[2] > 2 * scale[1]);
}

TEST_CASE("ppo, trpo: rewards that are all the same change nothing") {
  for (const MakeUpdate make : kUpdates) {
    for (const Policy& start : policies()) {
      ActorCritic agent = agent_of(start);
      Episodes episodes = played_episodes(start, 300, 1, 2);
      std::fill(episodes.rewards.begin(), episodes.rewards.end(), 0.0);
      const auto update = make({});
      const UpdateReport report = update->update(episodes, {1, 1}, agent);
      CHECK(report.kl == doctest::Approx(0));
      CHECK(report.value_loss == doctest::Approx(0));
      const Policy now = agent.policy();
      for (std::size_t j = 0; j < now.theta.size(); ++j) CHECK(now.theta[j] == doctest::Approx(start.theta[j]));
    }
  }
}

TEST_CASE("ppo, trpo, pretraining: one row is enough") {
  for (const MakeUpdate make : kUpdates) {
    for (const Policy& start : policies()) {
      ActorCritic agent = agent_of(start);
      const Episodes episodes = played_episodes(start, 1, 1, 2);
      pretrain(episodes, {}, {1, 0}, agent);
      const UpdateReport report = make({})->update(episodes, {1, 1}, agent);
      CHECK(std::isfinite(report.kl));
      CHECK(std::isfinite(report.surrogate));
      CHECK(std::isfinite(report.entropy));
      CHECK_NOTHROW(agent.policy());
    }
  }
}

TEST_CASE("ppo: a learning rate that explodes is an error that says so") {
  ReinforcementOptions options;
  for (const double rate : {1e3, 1e300}) {
    options.ppo.rate = rate;
    ActorCritic agent = agent_of(policies()[0]);
    make_ppo_update(options)->update(played_episodes(policies()[0], 300, 1, 2), {1, 1}, agent);
    CHECK_THROWS_WITH_AS(agent.policy(), doctest::Contains("use a smaller learning rate"), Error);
  }
}

TEST_CASE("actor-critic: a policy comes back from other units as it went in") {
  for (const Policy& start : policies()) {
    EpisodeUnits units = plain_units(start.row_length() - 1);
    for (std::size_t j = 0; j < units.features.size(); ++j) units.features[j] = {3.0 * static_cast<double>(j) - 2, 1e3};
    if (start.kind == PolicyKind::gaussian) units.action = {40, 7};
    const Policy back = ActorCritic(start, units).policy();
    for (std::size_t j = 0; j < start.theta.size(); ++j) CHECK(back.theta[j] == doctest::Approx(start.theta[j]));
    CHECK(back.scale == doctest::Approx(start.scale));
    CHECK(back.epsilon == start.epsilon);
  }
}

TEST_CASE("actor-critic: policies that it cannot be are refused with what to do") {
  Policy joint = drawn_policy(PolicyKind::multilabel, 2, 1, 0.1, 1);
  joint.mixing = Mixing::joint;
  CHECK_THROWS_WITH_AS(agent_of(joint), doctest::Contains("use mixing = \"label\""), Error);
  CHECK_THROWS_WITH_AS(agent_of(drawn_policy(PolicyKind::lognormal, 1, 1, 0, 1)), doctest::Contains("lognormal"),
                       Error);
  Policy quadratic = drawn_policy(PolicyKind::gaussian, 1, 2, 0, 1);
  quadratic.features = FeatureMap::quadratic;
  CHECK_THROWS_WITH_AS(agent_of(quadratic), doctest::Contains("linear"), Error);
}

TEST_CASE("episodes: units have mean zero and spread one, and a column without spread keeps its own") {
  Episodes episodes = played_episodes(drawn_policy(PolicyKind::gaussian, 1, 2, 0, 1), 50, 1, 3);
  for (std::size_t i = 0; i < 50; ++i) episodes.contexts[3 * i + 2] = 1e6;
  for (double& a : episodes.actions) a = 1e4 + 300 * a;
  const EpisodeUnits units = units_of(episodes);
  CHECK(units.features[1].spread == 1);
  standardize(units, episodes);
  double sum = 0, squares = 0;
  for (const double a : episodes.actions) sum += a, squares += a * a;
  CHECK(sum == doctest::Approx(0));
  CHECK(squares == doctest::Approx(50));
  CHECK(episodes.contexts[2] == 0);
  CHECK(episodes.contexts[0] == 1);
  episodes.rewards[7] = 1e300;
  CHECK_THROWS_WITH_AS(units_of(episodes), doctest::Contains("losses of the first batch are too large"), Error);
}
