// labels: fast statistical
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "support/rows/labelled_problems.hpp"

using namespace scrm;
using namespace scrm_test;

namespace {

/// |sum − expected| within 4.5 deviations of a sum of independent bits: false alarms 7e-6.
struct BitCount {
  double found = 0, expected = 0, variance = 0;

  void add(bool bit, long double probability) {
    found += bit;
    expected += static_cast<double>(probability);
    variance += static_cast<double>(probability * (1 - probability));
  }
  bool plausible() const { return std::abs(found - expected) <= 4.5 * std::sqrt(variance) + 1e-9; }
};

}  // namespace

TEST_CASE("labelled problem: every row is either trained or tested on, in batches of equal size") {
  for (const std::int64_t rows : {3, 7, 100, 301}) {
    for (const int rollouts : {1, 4, 10}) {
      CAPTURE(rows);
      CAPTURE(rollouts);
      const LabelledData data = made_up_data(rows, 3, 2);
      const RunOptions options = few_rollouts(rollouts);
      const auto factory = make_labelled_factory(std::make_shared<const LabelledData>(data), {});
      const auto problem = factory.make(5, options);
      std::map<std::size_t, int> met;
      std::int64_t least = rows, most = 0, before = 0;
      for (int b = 0; b < rollouts; ++b) {
        CHECK(problem->shape().rows_before[static_cast<std::size_t>(b)] == before);
        const auto batch = problem->batch({problem->start(), false}, b);
        CHECK(batch->rows() == problem->shape().batch_rows(b));
        least = std::min(least, batch->rows() / options.replays);
        most = std::max(most, batch->rows() / options.replays);
        before += batch->rows();
        for (const LabelledRow& row : logged(*batch, problem->start())) ++met[row_of(row.context)];
      }
      CHECK(problem->shape().rows_before[static_cast<std::size_t>(rollouts)] == before);
      CHECK(most - least <= 1);
      for (const auto& [row, times] : met) CHECK(times == options.replays);
      const auto tested = static_cast<std::size_t>(std::ceil(0.33 * static_cast<double>(rows)));
      CHECK(met.size() == static_cast<std::size_t>(rows) - tested);
      CHECK(rows_kept(*problem, data, rollouts).size() == tested);
    }
  }
}

TEST_CASE("labelled problem: another seed splits otherwise, the same seed never does") {
  const LabelledData data = made_up_data(120, 3, 2);
  const RunOptions options = few_rollouts(3);
  const auto a = labelled_problem(data, 1, options), again = labelled_problem(data, 1, options),
             b = labelled_problem(data, 2, options);
  CHECK(rows_kept(*a, data, 3) == rows_kept(*again, data, 3));
  CHECK(rows_kept(*a, data, 3) != rows_kept(*b, data, 3));
  const LoggingPolicy logging_policy{some_policy(*a, 3), true};
  CHECK(logged(*a, logging_policy, 1) == logged(*again, logging_policy, 1));
  CHECK(logged(*a, logging_policy, 1) != logged(*b, logging_policy, 1));
}

TEST_CASE("labelled problem: the test loss is the expected share of wrong bits, mixed with a fair coin") {
  for (const double epsilon : {0.0, 0.1, 1.0}) {
    for (const std::int64_t rows : {3, 200, 9000}) {
      RunOptions options = few_rollouts(5);
      options.epsilon = epsilon;
      const LabelledData data = made_up_data(rows, 4, 3);
      const auto problem = labelled_problem(data, 9, options);
      const std::vector<std::size_t> kept = rows_kept(*problem, data, 5);
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        Policy policy = some_policy(*problem, seed, seed == 2 ? 30.0 : 0.5);
        const auto expected = static_cast<double>(expected_loss(data, kept, policy, epsilon));
        CAPTURE(epsilon);
        CAPTURE(rows);
        CHECK(problem->test_loss(policy) == doctest::Approx(expected).epsilon(1e-12));
        // Whatever the policy says of its own mixing: all are compared alike.
        policy.epsilon = 0.7;
        CHECK(problem->test_loss(policy) == doctest::Approx(expected).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("labelled problem: losses are the share of wrong bits, propensities those of whoever acted") {
  const LabelledData data = made_up_data(300, 4, 3);
  for (const Mixing mixing : {Mixing::label, Mixing::joint}) {
    RunOptions options = few_rollouts(2);
    options.mixing = mixing;
    const auto problem = labelled_problem(data, 3, options, {0.5, false});
    CHECK(problem->schema().label_propensity == (mixing == Mixing::label));
    Policy bare = some_policy(*problem, 8);
    bare.epsilon = 0;
    for (const Policy& policy : {problem->first_policy(true), some_policy(*problem, 7), bare}) {
      for (const LabelledRow& row : logged(*problem, {policy, true}, 1)) {
        REQUIRE(row.weight == 1.0);
        int wrong = 0;
        long double log_product = 0, product = 1;
        const long double epsilon = mixing == Mixing::label ? policy.epsilon : 0.0;
        for (int k = 0; k < 3; ++k) {
          const auto at = static_cast<std::size_t>(k);
          wrong += (row.bits[at] != 0) != label_of(data, row_of(row.context), k);
          const long double one = (1 - epsilon) * logistic(score_of(policy, row.context.data(), k)) + epsilon / 2;
          const long double own = row.bits[at] != 0 ? one : 1 - one;
          log_product += std::log(own);
          product *= own;
          if (mixing == Mixing::label) CHECK(std::abs(row.label_propensity[at] - own) < 1e-13L);
        }
        CHECK(row.loss == wrong / 3.0);
        if (mixing == Mixing::joint) log_product = std::log((1 - policy.epsilon) * product + policy.epsilon / 8.0L);
        CHECK(std::abs(row.log_propensity - log_product) < 1e-12L);
      }
    }
  }
}

TEST_CASE("labelled problem: bits are drawn with the probabilities that are recorded, afresh for every replay") {
  const LabelledData data = made_up_data(1500, 4, 3);
  RunOptions options = few_rollouts(1);
  options.replays = 8;
  const auto problem = labelled_problem(data, 4, options);
  const Policy policy = some_policy(*problem, 5);
  std::vector<BitCount> counts(3);
  std::map<std::size_t, std::set<std::vector<int>>> actions;
  for (const LabelledRow& row : logged(*problem, {policy, true}, 0)) {
    for (int k = 0; k < 3; ++k) {
      const long double one = (1 - 0.1L) * logistic(score_of(policy, row.context.data(), k)) + 0.05L;
      counts[static_cast<std::size_t>(k)].add(row.bits[static_cast<std::size_t>(k)] != 0, one);
    }
    actions[row_of(row.context)].insert(row.bits);
  }
  for (const BitCount& count : counts) CHECK(count.plausible());
  const auto varied =
      std::count_if(actions.begin(), actions.end(), [](const auto& entry) { return entry.second.size() > 1; });
  CHECK(varied > static_cast<std::int64_t>(actions.size()) / 2);
}

TEST_CASE("labelled problem: constant policies play zeros, or what most training rows have") {
  LabelledData data = made_up_data(200, 3, 3);
  for (std::size_t i = 0; i < 200; ++i) data.label[3 * i] = i % 5 != 0;      // mostly one
  for (std::size_t i = 0; i < 200; ++i) data.label[3 * i + 1] = i % 5 == 0;  // mostly zero
  for (std::size_t i = 0; i < 200; ++i) data.label[3 * i + 2] = 0;
  const auto problem = labelled_problem(data, 6, few_rollouts(5));
  const std::vector<std::size_t> kept = rows_kept(*problem, data, 5);
  double share[3] = {};
  for (const std::size_t row : kept) {
    for (int k = 0; k < 3; ++k) share[k] += label_of(data, row, k) / static_cast<double>(kept.size());
  }
  const auto zeros = problem->constant_policy(false), majority = problem->constant_policy(true);
  REQUIRE(zeros.has_value());
  REQUIRE(majority.has_value());
  CHECK(problem->test_loss(*zeros) == doctest::Approx(0.9 * (share[0] + share[1] + share[2]) / 3 + 0.05));
  CHECK(problem->test_loss(*majority) == doctest::Approx(0.9 * (1 - share[0] + share[1] + share[2]) / 3 + 0.05));
}

TEST_CASE("labelled problem: learning starts from zeros, the first policy from few rows and a bonus") {
  const LabelledData data = made_up_data(600, 4, 3);
  const RunOptions options = few_rollouts(4);
  const auto plain = labelled_problem(data, 2, options), raised = labelled_problem(data, 2, options, {2.0, false});
  CHECK(std::all_of(plain->start().theta.begin(), plain->start().theta.end(), [](double t) { return t == 0; }));
  CHECK(plain->start().epsilon == 0.1);
  CHECK(plain->start().kind == PolicyKind::multilabel);
  const std::vector<double>&a = plain->first_policy(true).theta, &b = raised->first_policy(true).theta;
  REQUIRE(a.size() == 15);
  for (std::size_t j = 0; j < a.size(); ++j) CHECK(b[j] == doctest::Approx(a[j] + 2).epsilon(1e-12));
  CHECK(plain->baseline_policy().theta == a);
  RunOptions own = options;
  own.bonus = 0.5;
  CHECK(labelled_problem(data, 2, own, {2.0, false})->first_policy(true).theta[3] == doctest::Approx(a[3] + 0.5));
}

TEST_CASE("labelled problem: a label that the first rows show one class of is played with probability 0.95") {
  LabelledData data = made_up_data(300, 3, 4);
  for (std::size_t i = 0; i < 300; ++i) {
    data.label[4 * i + 1] = 0;
    data.label[4 * i + 2] = 0;
    data.label[4 * i + 3] = 1;
  }
  const auto problem = labelled_problem(data, 2, few_rollouts(4), {1.0, false});
  const std::vector<double>& theta = problem->first_policy(true).theta;
  for (const std::size_t k : {1, 2, 3}) {
    CHECK(static_cast<double>(logistic(theta[4 * k])) == doctest::Approx(k == 3 ? 0.95 : 0.05));
    for (std::size_t j = 1; j < 4; ++j) CHECK(theta[4 * k + j] == 0);
  }
  // The skyline and the majority know them too.
  CHECK(problem->test_loss(problem->skyline()) < problem->test_loss(problem->first_policy(true)));
  CHECK(problem->test_loss(problem->skyline()) < problem->test_loss(*problem->constant_policy(false)));
}

TEST_CASE("labelled problem: as published, learned policies draw each bit with the probability of the true one") {
  const LabelledData data = made_up_data(1500, 4, 3);
  RunOptions options = few_rollouts(2);
  options.protocol = Protocol::published;
  const auto problem = labelled_problem(data, 4, options);
  CHECK(problem->start().epsilon == 0);
  CHECK(problem->baseline_policy().epsilon == 0);
  const Policy policy = some_policy(*problem, 5);
  std::vector<BitCount> counts(3);
  for (const LabelledRow& row : logged(*problem, {policy, true}, 0)) {
    long double log_product = 0;
    for (int k = 0; k < 3; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const long double one = logistic(score_of(policy, row.context.data(), k));
      const long double set = label_of(data, row_of(row.context), k) ? one : 1 - one;
      counts[at].add(row.bits[at] != 0, set);
      const long double own = row.bits[at] != 0 ? set : 1 - set;
      CHECK(std::abs(row.label_propensity[at] - own) < 1e-13L);
      log_product += std::log(own);
    }
    CHECK(std::abs(row.log_propensity - log_product) < 1e-12L);
  }
  for (const BitCount& count : counts) CHECK(count.plausible());

  // Whoever does not learn here never sees a label; a deploying learner begins with fair coins.
  for (const LabelledRow& row : logged(*problem, {problem->baseline_policy(), false}, 1)) REQUIRE(row.weight == 1.0);
  const Policy& first = problem->first_policy(true);
  CHECK(first.kind == PolicyKind::uniform);
  CHECK(problem->first_policy(false).theta == problem->baseline_policy().theta);
  std::vector<BitCount> fair(3);
  for (const LabelledRow& row : logged(*problem, {first, false}, 0)) {
    REQUIRE(row.weight == 1.0);
    CHECK(row.log_propensity == doctest::Approx(-3 * std::log(2.0)).epsilon(1e-14));
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(row.label_propensity[k] == 0.5);
      fair[k].add(row.bits[k] != 0, 0.5L);
    }
  }
  for (const BitCount& count : fair) CHECK(count.plausible());
}
