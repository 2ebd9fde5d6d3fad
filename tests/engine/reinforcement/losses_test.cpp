// labels: fast
// What PPO, TRPO's critic and behaviour cloning minimise, against plain formulas and finite differences.
#include "reinforcement/losses.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "reinforcement/adam.hpp"
#include "reinforcement/minibatches.hpp"
#include "reinforcement/played_batch.hpp"
#include "support/episodes.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

std::vector<Policy> policies() {
  return {drawn_policy(PolicyKind::gaussian, 1, 3, 0, 1), drawn_policy(PolicyKind::multilabel, 4, 3, 0.1, 2),
          drawn_policy(PolicyKind::multilabel, 2, 0, 0, 3), drawn_policy(PolicyKind::softmax, 3, 2, 0.1, 4)};
}

/// An agent that has moved on since it played the episodes, far enough for some ratios to be clipped.
struct Moved {
  Moved(const Policy& policy, int replays)
      : agent(policy, plain_units(policy.row_length() - 1)), episodes(played_episodes(policy, 48, replays, 5)) {
    std::mt19937_64 random(6);
    for (double& p : agent.parameters().last(static_cast<std::size_t>(agent.width()))) p = 0.3 * normal(random);
    batch = std::make_unique<PlayedBatch>(episodes, agent, true);
    for (double& p : agent.parameters()) p += 0.1 * normal(random);
    minibatches = std::make_unique<Minibatches>(episodes, 48);
    minibatches->shuffle({7, 1}, 2);
    REQUIRE(minibatches->next(batch->old_log_probability(), batch->advantages(), true, rows));
  }

  ActorCritic agent;
  Episodes episodes;
  std::unique_ptr<PlayedBatch> batch;
  std::unique_ptr<Minibatches> minibatches;
  Minibatch rows;
};

void check_gradient(ActorCritic& agent, std::span<double> parameters, std::size_t size,
                    const std::function<double(std::span<double>)>& loss) {
  std::vector<double> gradient(size), ignored(size);
  loss(gradient);
  const double h = 1e-6;
  for (std::size_t j = 0; j < size; ++j) {
    const double before = parameters[j];
    parameters[j] = before + h;
    const double above = loss(ignored);
    parameters[j] = before - h;
    const double below = loss(ignored);
    parameters[j] = before;
    CAPTURE(j);
    // A first difference of numbers of unit size is good to about 1e-9.
    CHECK(gradient[j] == doctest::Approx((above - below) / (2 * h)).epsilon(1e-6));
  }
  CHECK(agent.parameters().size() >= size);
}

}  // namespace

TEST_CASE("clipped surrogate: equals the formula row by row, and so do its derivatives") {
  std::mt19937_64 random(8);
  std::vector<double> now, before, advantages;
  for (int i = 0; i < 500; ++i) {
    before.push_back(normal(random));
    now.push_back(before.back() + 0.4 * normal(random));
    advantages.push_back(i % 50 == 0 ? 0 : normal(random));
  }
  const double clip = 0.2;
  double expected = 0;
  std::vector<double> slopes;
  int cut = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double ratio = std::exp(now[i]) / std::exp(before[i]);
    double clipped = ratio;
    if (clipped > 1 + clip) clipped = 1 + clip;
    if (clipped < 1 - clip) clipped = 1 - clip;
    const double a = ratio * advantages[i], b = clipped * advantages[i];
    expected += a < b ? a : b;
    slopes.push_back(a <= b ? ratio * advantages[i] : 0);
    cut += a > b;
  }
  CHECK(cut > 50);  // the clip has something to say here
  std::vector<double> weights(now.size());
  CHECK(clipped_surrogate(now, before.data(), advantages.data(), clip, weights.data()) ==
        doctest::Approx(expected).epsilon(1e-13));
  for (std::size_t i = 0; i < slopes.size(); ++i) CHECK(weights[i] == doctest::Approx(slopes[i]).epsilon(1e-13));
}

TEST_CASE("clipped surrogate: a ratio beyond all numbers stays one") {
  const std::vector<double> now = {1000}, before = {-1000}, advantages = {-1};
  double weight = 0;
  CHECK(std::isfinite(clipped_surrogate(now, before.data(), advantages.data(), 0.2, &weight)));
  CHECK(std::isfinite(weight));
}

TEST_CASE("losses: gradients of actor and critic agree with finite differences") {
  for (const Policy& policy : policies()) {
    for (const int replays : {1, 4}) {
      CAPTURE(policy.kind.name());
      CAPTURE(replays);
      Moved moved(policy, replays);
      ActorCritic& agent = moved.agent;
      ActorCriticLoss loss(agent);
      const std::span<double> all = agent.parameters();
      const PpoOptions ppo;
      check_gradient(agent, all, all.size(), [&](std::span<double> g) { return loss.proximal(moved.rows, ppo, g); });
      check_gradient(agent, all, all.size(), [&](std::span<double> g) { return loss.cloning(moved.rows, 0.7, g); });
      const auto width = static_cast<std::size_t>(agent.width());
      check_gradient(agent, all.last(width), width, [&](std::span<double> g) { return loss.value(moved.rows, g); });
    }
  }
}

TEST_CASE("losses: ppo's is the mean of its terms over rows") {
  const Policy policy = drawn_policy(PolicyKind::gaussian, 1, 3, 0, 1);
  Moved moved(policy, 1);
  ActorCriticLoss loss(moved.agent);
  std::vector<double> gradient(moved.agent.parameters().size());
  const double value = loss.proximal(moved.rows, {}, gradient);
  double expected = 0;
  for (std::int64_t i = 0; i < 48; ++i) {
    const double* x = moved.rows.contexts.data + i * 4;
    double mean = 0, estimate = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      mean += moved.agent.actor()[j] * x[j];
      estimate += moved.agent.critic()[j] * x[j];
    }
    const double sigma = std::exp(moved.agent.log_scale()), z = (moved.rows.actions[i] - mean) / sigma;
    const double density = std::exp(-z * z / 2) / (sigma * std::sqrt(2 * std::acos(-1.0)));
    const double ratio = density / std::exp(moved.rows.old_log_probability[i]), advantage = moved.rows.advantages[i];
    const double cut = std::min(std::max(ratio, 0.8), 1.2);
    expected += -std::min(ratio * advantage, cut * advantage) / 48;
    expected += 0.5 * std::pow(moved.rows.rewards[i] - estimate, 2) / 48;
  }
  CHECK(value == doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("minibatches: an epoch has every row once, with its own context, action and reward") {
  const Episodes episodes = played_episodes(drawn_policy(PolicyKind::multilabel, 3, 2, 0, 1), 100, 4, 9);
  Minibatches minibatches(episodes, 32);
  std::vector<double> numbers(100);
  for (std::size_t i = 0; i < 100; ++i) numbers[i] = static_cast<double>(i);
  std::vector<std::vector<double>> orders;
  for (const UpdateKey& key : {UpdateKey{1, 2}, UpdateKey{1, 3}, UpdateKey{2, 2}}) {
    minibatches.shuffle(key, 0);
    orders.emplace_back();
    std::vector<std::int64_t> sizes;
    for (Minibatch rows; minibatches.next(numbers, numbers, false, rows);) {
      const std::int64_t count = rows.contexts.rows;
      sizes.push_back(count);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto row = static_cast<std::int64_t>(rows.old_log_probability[i]);
        orders.back().push_back(static_cast<double>(row));
        CHECK(rows.contexts.data[i * 3 + 1] == episodes.contexts[static_cast<std::size_t>(row / 4 * 3 + 1)]);
        CHECK(rows.actions[2 * count + i] == episodes.actions[static_cast<std::size_t>(row * 3 + 2)]);
        CHECK(rows.rewards[i] == episodes.rewards[static_cast<std::size_t>(row)]);
      }
    }
    CHECK(sizes == std::vector<std::int64_t>{32, 32, 32, 4});
    std::vector<double> sorted = orders.back();
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == numbers);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[0] != orders[2]);
}

TEST_CASE("normalize: mean zero, spread one; a single one stays, equal ones vanish") {
  std::vector<double> several = {1, 2, 3, 6}, one = {5}, equal(4, 0.1);
  normalize(several);
  CHECK(several[3] == doctest::Approx(3 / std::sqrt(14.0 / 3)).epsilon(1e-7));
  CHECK(several[0] + several[1] + several[2] + several[3] == doctest::Approx(0));
  normalize(one);
  CHECK(one[0] == 5);
  normalize(equal);
  for (const double a : equal) CHECK(std::abs(a) < 1e-6);
}

TEST_CASE("adam: takes the steps of its article") {
  Adam adam(2, 0.1);
  std::vector<double> parameters = {1, -2};
  double m[2] = {}, v[2] = {}, expected[2] = {1, -2};
  for (int t = 1; t <= 5; ++t) {
    const std::vector<double> gradient = {0.5 * t, -3.0 / t};
    adam.step(gradient, parameters);
    for (std::size_t j = 0; j < 2; ++j) {
      m[j] = 0.9 * m[j] + 0.1 * gradient[j];
      v[j] = 0.999 * v[j] + 0.001 * gradient[j] * gradient[j];
      expected[j] -= 0.1 * (m[j] / (1 - std::pow(0.9, t))) / (std::sqrt(v[j] / (1 - std::pow(0.999, t))) + 1e-5);
      CHECK(parameters[j] == doctest::Approx(expected[j]).epsilon(1e-12));
    }
  }
}

TEST_CASE("cut_norm: leaves short gradients alone") {
  std::vector<double> longer = {3, 4}, shorter = {0.3, 0.4};
  cut_norm(0.5, longer);
  CHECK(longer[0] == doctest::Approx(0.3));
  CHECK(longer[1] == doctest::Approx(0.4));
  const std::vector<double> before = shorter;
  cut_norm(0.6, shorter);
  CHECK(shorter == before);
}
