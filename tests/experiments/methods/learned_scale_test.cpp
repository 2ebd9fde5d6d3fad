// labels: fast
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "scrm/experiments/method.hpp"
#include "sweep/run/logged_batches.hpp"

using namespace scrm;

namespace {

RunOptions learned_options(const ProblemFactory& factory) {
  RunOptions options = factory.defaults;
  options.rollouts = 4;
  options.lambdas = {{LambdaKind::given, 0.01}};
  options.learn_scale = true;
  options.centre_losses = true;
  options.past = PastRollouts::balance;
  return options;
}

double log_normal(double action, double mean, double scale) {
  const double z = (action - mean) / scale;
  return -0.5 * z * z - std::log(scale) - 0.5 * std::log(2 * std::acos(-1.0));
}

double mean_of(const Policy& policy, const Block& block, int row) {
  double mean = policy.theta[0];
  const auto* x = static_cast<const double*>(block.context);
  for (std::int64_t j = 0; j < block.features; ++j)
    mean += policy.theta[static_cast<std::size_t>(j + 1)] * x[j * kBlockRows + row];
  return mean;
}

}  // namespace

TEST_CASE("learned scale in sweeps: batches are drawn with it, and weighed by the mixture of policies and scales") {
  const ProblemFactory factory = make_problem_factory("pricing", "");
  const RunOptions options = learned_options(factory);
  const auto problem = factory.make(3, options);
  const std::vector<HyperParameters> runs = {{options.lambdas.front(), 0}};
  const auto learner = find_method("scrm").make({*problem, options, runs, 3, {}, {}});
  LoggedBatches log(*problem, PastRollouts::balance, false, {});
  std::vector<Policy> policies = {problem->first_policy(true)};
  for (int batch = 0; batch < 4; ++batch) {
    log.add({policies.back(), batch > 0});
    learner->learn(log.rows(), batch);
    policies.push_back(learner->policy(0));
    // From 0.5 on, no faster than with the fourth root of the rows.
    CHECK(policies.back().scale >= 0.5 * std::pow(100.0 / static_cast<double>(log.rows_logged()), 0.25) - 1e-12);
    CHECK(learner->metrics(0).at("scale") == policies.back().scale);
  }
  CHECK(policies[4].scale < 0.45);
  CHECK(policies[4].scale != policies[3].scale);
  // The propensity of every row is that of the four policies that logged, each with its own scale.
  std::int64_t rows = 0;
  const auto loader = log.rows().make_loader();
  for (std::int64_t b = 0; b < log.rows().blocks(); ++b) {
    const auto group = log.rows().fetch(b, 1);
    Audit audit;
    const Block block = log.rows().load(*group, b, *loader, audit);
    for (int i = 0; i < block.rows; ++i, ++rows) {
      double mixture = 0;
      for (int policy = 0; policy < 4; ++policy) {
        const Policy& one = policies[static_cast<std::size_t>(policy)];
        mixture += static_cast<double>(problem->shape().batch_rows(policy)) / 1500 *
                   std::exp(log_normal(block.action[i], mean_of(one, block, i), one.scale));
      }
      const double recorded = block.propensity != nullptr ? block.propensity[i] : std::exp(block.log_propensity[i]);
      REQUIRE(recorded == doctest::Approx(mixture).epsilon(1e-9));
    }
  }
  CHECK(rows == 1500);
  // Acted by the last policy, the next batch spreads as that says.
  const std::unique_ptr<Source> next = problem->batch({policies[4], true}, 4);
  Moments residuals;
  const auto next_loader = next->make_loader();
  const auto group = next->fetch(0, 1);
  Audit audit;
  const Block block = next->load(*group, 0, *next_loader, audit);
  for (int i = 0; i < block.rows; ++i)
    residuals.merge(Moments::of((block.action[i] - mean_of(policies[4], block, i)) / policies[4].scale));
  // 1,600 standard normals: further than 8 % off once in 10^5.
  CHECK(residuals.standard_deviation() == doctest::Approx(1).epsilon(0.08));
}

TEST_CASE("learned scale in sweeps: the optimum is that of the least scale, and actions without one ignore it") {
  const ProblemFactory pricing = make_problem_factory("pricing", "");
  RunOptions options = learned_options(pricing);
  Policy best = pricing.make(0, pricing.defaults)->start();
  best.theta.assign(best.theta.size(), 0.0);
  for (std::size_t j = 1; j <= 3; ++j) best.theta[j] = 1 / (3 * 0.6);
  for (const double least : {0.1, 0.05}) {
    best.scale = least;
    if (least < 0.1) options.min_scale = least;  // else a fifth of the start's 0.5
    const auto problem = pricing.make(0, options);
    CHECK(problem->optimum().value() == doctest::Approx(problem->test_loss(best)).epsilon(1e-12));
  }
  const ProblemFactory classes = make_problem_factory("categorical", "");
  const RunOptions others = learned_options(classes);
  const auto problem = classes.make(3, others);
  const std::vector<HyperParameters> runs = {{others.lambdas.front(), 0}};
  const auto learner = find_method("scrm").make({*problem, others, runs, 3, {}, {}});
  LoggedBatches log(*problem, PastRollouts::balance, false, {});
  log.add({problem->first_policy(true), false});
  learner->learn(log.rows(), 0);
  CHECK(learner->policy(0).kind == PolicyKind::softmax);
}
