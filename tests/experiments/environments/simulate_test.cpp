// labels: fast statistical
#include "scrm/experiments/simulated_source.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "scrm/io/file/error.hpp"
#include "support/rows/simulated_rows.hpp"

namespace {

using namespace scrm_test;

constexpr const char* kNames[] = {"gaussian", "pricing", "advertising", "categorical", "multilabel"};

scrm::SimulateOptions options(std::int64_t rows, std::uint64_t seed = 1) {
  scrm::SimulateOptions result;
  result.rows = rows;
  result.rollout_key.seed = seed;
  return result;
}

bool equal(const Rows& a, const Rows& b) {
  return a.context == b.context && a.action == b.action && a.bits == b.bits && a.loss == b.loss &&
         a.propensity == b.propensity;
}

scrm::Policy softmax(int actions, double epsilon) {
  scrm::Policy policy;
  policy.kind = scrm::PolicyKind::softmax;
  policy.outputs = actions;
  policy.epsilon = epsilon;
  for (int k = 0; k < actions; ++k) {
    for (int j = 0; j <= 5; ++j) policy.theta.push_back(std::sin(k * 6 + j));
  }
  return policy;
}

/// Mean of 1/p over rows, which is the number of actions when sampler and propensities agree: 4.5 standard errors,
/// false alarms 7e-6.
void check_inverse_propensities(const Rows& rows, bool logarithm, double actions) {
  std::vector<double> inverse;
  for (const double p : rows.propensity) inverse.push_back(logarithm ? std::exp(-p) : 1 / p);
  const scrm::Moments found = moments(inverse);
  CHECK(std::abs(found.mean - actions) < 4.5 * standard_error(found) + 1e-9);
}

}  // namespace

TEST_CASE("simulate: any block made alone, in any order, is the block of the whole") {
  for (const char* name : kNames) {
    const auto env = environment(name, 1);
    const scrm::SimulateOptions wanted = options(5 * scrm::kBlockRows + 17);
    const scrm::Policy policy = scrm::first_policy(*env, wanted);
    scrm::SimulatedSource whole(env, policy, name, wanted);
    const Rows last_first = gather(whole, policy, 5, 6);
    const Rows middle = gather(whole, policy, 2, 3);
    CHECK(last_first.loss.size() == 17);
    // A longer data set begins with the same rows.
    scrm::SimulatedSource longer(env, policy, name, options(9 * scrm::kBlockRows));
    CHECK(equal(middle, gather(longer, policy, 2, 3)));
    const Rows full = gather(longer, policy, 5, 6);
    CHECK(std::equal(last_first.loss.begin(), last_first.loss.end(), full.loss.begin()));
    CHECK(std::equal(last_first.propensity.begin(), last_first.propensity.end(), full.propensity.begin()));
  }
}

TEST_CASE("simulate: another seed or rollout gives other rows, the same gives the same") {
  for (const char* name : kNames) {
    scrm::SimulateOptions wanted = options(3000);
    const auto env = environment(name, 1);
    const Rows rows = simulate(env, wanted);
    CHECK(equal(rows, simulate(env, wanted)));
    wanted.rollout_key.rollout = 1;
    CHECK_FALSE(rows.loss == simulate(env, wanted).loss);
    wanted.rollout_key = {2, 0};
    CHECK_FALSE(rows.loss == simulate(env, wanted).loss);
  }
}

TEST_CASE("simulate: the logging policy evaluated on its own logs has weights of exactly 1") {
  for (const char* name : kNames) {
    for (const bool float32 : {false, true}) {
      for (const std::int64_t sparse : {0, 40}) {
        CAPTURE(name);
        CAPTURE(float32);
        CAPTURE(sparse);
        scrm::SimulateOptions wanted = options(2 * scrm::kBlockRows + 5);
        wanted.float32 = float32;
        wanted.sparse_features = sparse;
        wanted.density = 0.1;
        const Rows rows = simulate(environment(name, 1), wanted);
        CHECK(std::all_of(rows.weight.begin(), rows.weight.end(), [](double w) { return w == 1.0; }));
      }
    }
  }
}

TEST_CASE("simulate: propensities are the densities of the textbook") {
  const Rows pricing = simulate(environment("pricing"), options(4000));
  for (std::size_t i = 0; i < pricing.loss.size(); ++i) {
    const double mean = (pricing.context[0][i] + pricing.context[1][i] + pricing.context[2][i]) / 3;
    const double z = pricing.action[i] - mean;
    const double expected = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    CHECK(pricing.propensity[i] == doctest::Approx(expected).epsilon(1e-12));
  }
  const Rows bids = simulate(environment("advertising"), options(4000));
  const double sigma = std::sqrt(std::log(1.25));
  for (std::size_t i = 0; i < bids.loss.size(); ++i) {
    const double z = (std::log(bids.action[i]) - (std::log(2.0) - sigma * sigma / 2)) / sigma;
    const double expected = std::exp(-z * z / 2) / (bids.action[i] * sigma * std::sqrt(2 * std::numbers::pi));
    CHECK(bids.propensity[i] == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("simulate: with float32 every context and action is a float, and losses follow from them") {
  scrm::SimulateOptions wanted = options(3000);
  wanted.float32 = true;
  const Rows rows = simulate(environment("pricing"), wanted);
  const Rows exact = simulate(environment("pricing"), options(3000));
  for (std::size_t i = 0; i < rows.loss.size(); ++i) {
    CHECK(rows.action[i] == static_cast<double>(static_cast<float>(rows.action[i])));
    for (std::size_t j = 0; j < 10; ++j) {
      CHECK(rows.context[j][i] == static_cast<double>(static_cast<float>(exact.context[j][i])));
    }
    CHECK(rows.loss[i] == doctest::Approx(exact.loss[i]).epsilon(1e-4));
  }
}

TEST_CASE("simulate: sparse contexts hold the environment's features first and change nothing else") {
  scrm::SimulateOptions wanted = options(3 * scrm::kBlockRows);
  const Rows dense = simulate(environment("advertising"), wanted);
  wanted.sparse_features = 1000;
  wanted.density = 0.02;
  const auto env = environment("advertising");
  const scrm::Policy policy = scrm::first_policy(*env, wanted);
  const Rows sparse = simulate(env, wanted);
  CHECK(sparse.action == dense.action);
  CHECK(sparse.loss == dense.loss);

  scrm::SimulatedSource source(env, policy, "policy", wanted);
  const auto loader = source.make_loader();
  scrm::Audit audit;
  const auto group = source.fetch(1, 1);
  const scrm::Block block = source.load(*group, 1, *loader, audit);
  CHECK(block.features == 1002);
  CHECK(block.sparse.indptr[0] == 0);
  for (int i = 0; i < block.rows; ++i) {
    const std::int64_t begin = block.sparse.indptr[i];
    const std::int64_t end = block.sparse.indptr[i + 1];
    for (std::int64_t e = begin; e < end; ++e) {
      CHECK(block.sparse.indices[e] < 1002);
      if (e > begin) CHECK(block.sparse.indices[e] > block.sparse.indices[e - 1]);
    }
    for (int j = 0; j < 2; ++j) {
      CHECK(block.sparse.indices[begin + j] == j);
      CHECK(block.sparse.values[begin + j] ==
            dense.context[static_cast<std::size_t>(j)][static_cast<std::size_t>(scrm::kBlockRows + i)]);
    }
  }
  // Binomial(2048 * 1000, 0.02) entries: within 4.5 standard deviations, false alarms 7e-6.
  const double trials = 2048.0 * 1000;
  const auto entries = static_cast<double>(block.sparse.indptr[block.rows] - 2 * block.rows);
  CHECK(std::abs(entries - 0.02 * trials) < 4.5 * std::sqrt(trials * 0.02 * 0.98));
}

TEST_CASE("simulate: densities 0 and 1 give no entry and every entry") {
  for (const double density : {0.0, 1.0}) {
    scrm::SimulateOptions wanted = options(100);
    wanted.sparse_features = 7;
    wanted.density = density;
    const auto env = environment("gaussian");
    scrm::SimulatedSource source(env, scrm::first_policy(*env, wanted), "policy", wanted);
    const auto loader = source.make_loader();
    scrm::Audit audit;
    const auto group = source.fetch(0, 1);
    const scrm::Block block = source.load(*group, 0, *loader, audit);
    CHECK(block.sparse.indptr[block.rows] == (density > 0 ? 700 : 0));
  }
}

TEST_CASE("simulate: what policies draw is what their propensities say, mixed with uniform or not") {
  for (const int actions : {1, 2, 6}) {
    for (const double epsilon : {0.0, 0.3, 1.0}) {
      const scrm::Policy policy = softmax(actions, epsilon);
      check_inverse_propensities(simulate(environment("categorical", 1, actions), options(100000), &policy), false,
                                 actions);
    }
    for (const scrm::Mixing mixing : {scrm::Mixing::joint, scrm::Mixing::label}) {
      scrm::Policy policy = softmax(actions, 0.2);
      policy.kind = scrm::PolicyKind::multilabel;
      policy.mixing = mixing;
      check_inverse_propensities(simulate(environment("multilabel", 1, actions), options(100000), &policy), true,
                                 std::pow(2.0, actions));
    }
    scrm::Policy uniform;
    uniform.kind = scrm::PolicyKind::uniform;
    uniform.outputs = 0;
    const Rows rows = simulate(environment("categorical", 1, actions), options(60000), &uniform);
    for (int k = 0; k < actions; ++k) {
      // Each action is drawn Binomial(60000, 1/K) times: 4.5 standard deviations, false alarms 7e-6 each.
      const auto count = static_cast<double>(std::count(rows.action.begin(), rows.action.end(), k));
      const double share = 1.0 / actions;
      CHECK(std::abs(count - 60000 * share) <= 4.5 * std::sqrt(60000 * share * (1 - share)));
    }
  }
}

TEST_CASE("simulate: no rows is a source without blocks") {
  const Rows rows = simulate(environment("pricing"), options(0));
  CHECK(rows.loss.empty());
}

TEST_CASE("simulate: a policy of another kind or dimension is refused by name") {
  const auto refused = [](const char* name, const scrm::Policy& policy) {
    try {
      simulate(environment(name), options(10), &policy);
    } catch (const scrm::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  scrm::Policy gaussian;
  gaussian.theta = {0.0, 1.0};
  const std::string dimension = refused("pricing", gaussian);
  CHECK(dimension.find("2 numbers") != std::string::npos);
  CHECK(dimension.find("11") != std::string::npos);
  const std::string kind = refused("categorical", gaussian);
  CHECK(kind.find("gaussian") != std::string::npos);
  CHECK(kind.find("categorical") != std::string::npos);
}

TEST_CASE("simulate: a policy whose actions overflow is an error that names policy and row") {
  scrm::Policy wild;
  wild.kind = scrm::PolicyKind::lognormal;
  wild.theta = {800.0};
  CHECK_THROWS_WITH_AS(simulate(environment("gaussian"), options(10), &wild), doctest::Contains("row 0"), scrm::Error);
}
