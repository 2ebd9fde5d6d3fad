// labels: fast threads
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/pass/row_split.hpp"
#include "scrm/io/file/error.hpp"
#include "support/rows/replayed_rows.hpp"
#include "support/sanitizers.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr std::uint64_t kSeed = 5;
constexpr int kReplays = 4;

/// Actions drawn evenly. The first feature says which one is good, the others nothing: what they seem to say is noise,
/// which a ridge keeps out.
LoggedRows noisy_rows(PolicyKind kind, std::int64_t count, bool clusters) {
  Schema schema = schema_for(kind, 8);
  schema.cluster = clusters;
  LoggedRows rows = replayed_rows(schema, count, kReplays, 3);
  std::mt19937_64 random(17);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const bool large = rows.context[8 * i] > 0;
    bool good = false;
    if (kind == PolicyKind::softmax) {
      good = rows.category[i] == (large ? 1 : 2);
      rows.propensity[i] = 1.0 / schema.num_actions;
    } else {
      good = (rows.bits[3 * i] != 0) == large;
      rows.propensity[i] = std::log(0.125);
      for (std::size_t k = 0; k < 3; ++k) rows.label_propensity[3 * i + k] = 0.5;
    }
    rows.loss[i] = (good ? 0.0 : 1.0) + 0.5 * normal(random);
    if (clusters) rows.cluster[i] = static_cast<std::int64_t>(i / 7);
  }
  return rows;
}

LearnOptions ridge_options(std::vector<double> candidates) {
  LearnOptions options;
  options.rules.estimator = &kIpsIxEstimator;
  options.alpha = 0.01;  // else that of the rows at hand
  options.lambdas = {0.3};
  options.choose_l2 = true;
  options.l2_candidates = std::move(candidates);
  options.seed = kSeed;
  options.minimize.tolerance = 1e-7;
  return options;
}

Policy start_of(PolicyKind kind, const Schema& schema) {
  Policy start = zero_policy(kind, FeatureMap::linear, schema);
  start.mixing = Mixing::label;
  start.epsilon = 0.1;
  return start;
}

/// The mean risk of a λ and an l2 on three held-out quarters, each step done by itself.
double risk_by_hand(Source& source, const Policy& start, LearnOptions options, double lambda, double l2) {
  const std::array<std::uint32_t, 3> numbers = {0, 1, 2};
  options.choose_l2 = false;
  options.lambdas = {lambda};
  options.rules.l2 = l2;
  double sum = 0;
  for (const RowMask& train : split_rows(source, split_unit(source.schema()), 0.75, options.seed, numbers, {})) {
    const RowMask test = ~train;
    options.rows = &train;
    ObjectiveProblem held_out;
    held_out.policy = learn(source, start, options, {}).policies.front().policy;
    held_out.rules.estimator = options.rules.estimator;
    held_out.rules.alpha = *options.alpha;
    held_out.rows = &test;
    sum += evaluate_objectives(source, {held_out}, {}).front().risk;
  }
  return sum / 3;
}

void check_by_hand(Source& source, PolicyKind kind) {
  const std::vector<double> candidates = {0, 1e-3, 1e-2, 1e-1, 10};
  const Policy start = start_of(kind, source.schema());
  const LearnReport report = learn(source, start, ridge_options(candidates), {});
  REQUIRE(report.l2_scores.size() == candidates.size());
  CHECK(report.scores.empty());
  double best = 0, least = 1e300;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const LambdaScore& score = report.l2_scores[c];
    CHECK(score.lambda == 0.3);
    CHECK(score.l2 == candidates[c]);
    CHECK(score.risk ==
          doctest::Approx(risk_by_hand(source, start, ridge_options({}), 0.3, candidates[c])).epsilon(1e-9));
    if (score.risk < least) best = candidates[c];
    least = std::min(least, score.risk);
  }
  const LearnedPolicy& found = report.policies.front();
  CHECK(found.l2 == best);
  LearnOptions given = ridge_options({});
  given.choose_l2 = false;
  given.rules.l2 = best;
  CHECK(found.policy.theta == learn(source, start, given, {}).policies.front().policy.theta);
}

}  // namespace

TEST_CASE("l2 by auto: every score is that of three splits by rows, and the best one is fitted to all rows") {
  const LoggedRows rows = noisy_rows(PolicyKind::softmax, 800, false);
  MemorySource source = make_source(rows);
  check_by_hand(source, PolicyKind::softmax);
}

TEST_CASE("l2 by auto: rows that share a context, or a cluster, stay on one side of a split") {
  const LoggedRows rows = noisy_rows(PolicyKind::multilabel, 800, false);
  MemorySource shared = shared_source(rows, kReplays), apart = make_source(rows);
  check_by_hand(shared, PolicyKind::multilabel);
  const LoggedRows clustered = noisy_rows(PolicyKind::multilabel, 800, true);
  MemorySource clusters = make_source(clustered);
  check_by_hand(clusters, PolicyKind::multilabel);
  // Splits of rows one by one are others: the scores show which were made.
  const Policy start = start_of(PolicyKind::multilabel, rows.schema);
  const auto first_score = [&](Source& source) {
    return learn(source, start, ridge_options({0.01, 0.1}), {}).l2_scores.front().risk;
  };
  CHECK(first_score(shared) != first_score(apart));
  CHECK(first_score(clusters) != first_score(apart));
}

TEST_CASE("l2 by auto: where all features but one are noise, a ridge is chosen, and a far too large one is not") {
  const LoggedRows rows = noisy_rows(PolicyKind::softmax, 200, false);
  MemorySource source = make_source(rows);
  LearnOptions options = ridge_options({0, 1e-3, 1e-2, 100});
  options.lambdas = {0};
  const LearnReport report = learn(source, start_of(PolicyKind::softmax, rows.schema), options, {});
  CHECK(report.policies.front().l2 > 0);
  CHECK(report.policies.front().l2 < 100);
}

TEST_CASE("l2 by auto: the same bits on any threads, finite, with lambda by auto too, which is chosen first") {
  const LoggedRows rows = noisy_rows(PolicyKind::multilabel, 3 * kBlockRows, false);
  MemorySource source = shared_source(rows, kReplays);
  const Policy start = start_of(PolicyKind::multilabel, source.schema());
  for (const Estimator* estimator : {&kSnipsEstimator, &kDmEstimator, &kAdditiveEstimator}) {
    CAPTURE(estimator->name);
    LearnOptions options = ridge_options({1e-2, 1e-4, 1e-3});
    options.rules.estimator = estimator;
    options.minimize.max_iterations = few_under_sanitizers(5, 20);
    options.lambda_rule = LambdaRule::automatic;
    options.lambdas = {0.1, 10};
    const LearnReport one = learn(source, start, options, {.threads = 1, .memory = 0, .progress = {}});
    const LearnReport seven = learn(source, start, options, {.threads = 7, .memory = 0, .progress = {}});
    REQUIRE(one.scores.size() == 2);
    REQUIRE(one.l2_scores.size() == 3);
    const LearnedPolicy& found = one.policies.front();
    for (const LambdaScore& score : one.scores) CHECK(score.l2 == 1e-4);
    for (const LambdaScore& score : one.l2_scores) {
      CHECK(score.lambda == found.lambda);
      CHECK(std::isfinite(score.risk));
    }
    CHECK(found.l2 == seven.policies.front().l2);
    CHECK(found.lambda == seven.policies.front().lambda);
    CHECK(found.policy.theta == seven.policies.front().policy.theta);
    for (std::size_t i = 0; i < 3; ++i) CHECK(one.l2_scores[i].risk == seven.l2_scores[i].risk);
    for (const double theta : found.policy.theta) CHECK(std::isfinite(theta));
  }
}

TEST_CASE("l2 by auto: every lambda that is given has a ridge of its own, as if it had been given alone") {
  const LoggedRows rows = noisy_rows(PolicyKind::softmax, 600, false);
  MemorySource source = make_source(rows);
  const Policy start = start_of(PolicyKind::softmax, rows.schema);
  LearnOptions options = ridge_options({0, 1e-2, 1});
  options.lambdas = {0, 1, 30};
  const LearnReport together = learn(source, start, options, {});
  REQUIRE(together.l2_scores.size() == 9);
  for (std::size_t l = 0; l < 3; ++l) {
    options.lambdas = {together.policies[l].lambda};
    const LearnReport alone = learn(source, start, options, {});
    CHECK(together.policies[l].l2 == alone.policies.front().l2);
    CHECK(together.policies[l].policy.theta == alone.policies.front().policy.theta);
    for (std::size_t r = 0; r < 3; ++r) CHECK(together.l2_scores[3 * l + r].risk == alone.l2_scores[r].risk);
  }
}

TEST_CASE("l2 by auto: candidates of its own go with the unit of the losses") {
  LoggedRows rows = noisy_rows(PolicyKind::softmax, 400, false);
  MemorySource small = make_source(rows);
  const Policy start = start_of(PolicyKind::softmax, rows.schema);
  const LearnReport before = learn(small, start, ridge_options({}), {});
  for (double& loss : rows.loss) loss *= 1024;
  MemorySource large = make_source(rows);
  LearnOptions options = ridge_options({});
  options.minimize.tolerance *= 1024;
  const LearnReport after = learn(large, start, options, {});
  REQUIRE(before.l2_scores.size() == 6);
  CHECK(before.l2_scores.front().l2 == 0);
  CHECK(before.l2_scores.back().l2 == doctest::Approx(0.01 * before.loss.standard_deviation()));
  CHECK(after.policies.front().l2 == doctest::Approx(1024 * before.policies.front().l2));
}

TEST_CASE("l2 by auto: equal losses leave nothing to choose, and candidates below zero are refused") {
  LoggedRows rows = noisy_rows(PolicyKind::softmax, 40, false);
  MemorySource varied = make_source(rows);
  const Policy start = start_of(PolicyKind::softmax, rows.schema);
  for (const double wrong : {-1.0, std::nan(""), HUGE_VAL})
    CHECK_THROWS_WITH_AS(learn(varied, start, ridge_options({0, wrong}), {}),
                         doctest::Contains("but must be zero or above"), Error);
  for (double& loss : rows.loss) loss = 0.5;
  MemorySource source = make_source(rows);
  LearnOptions options = ridge_options({0.1, 0.01});
  options.keep_start_if_losses_equal = true;
  const LearnReport report = learn(source, start, options, {});
  CHECK(report.l2_scores.empty());
  CHECK(report.policies.front().l2 == 0.01);
  CHECK(report.policies.front().policy.theta == start.theta);
}

TEST_CASE("learn: what dros shrinks by does not know the rows that are held out") {
  LoggedRows rows = noisy_rows(PolicyKind::softmax, 1200, false);
  MemorySource source = make_source(rows);
  const std::array<std::uint32_t, 1> number = {0};
  const RowMask train = split_rows(source, SplitUnit::row, 0.5, 1, number, {}).front();
  LearnOptions options;
  options.rules.estimator = &kDrosEstimator;
  options.rows = &train;
  options.minimize.max_iterations = 2;
  const double before = learn(source, start_of(PolicyKind::softmax, rows.schema), options, {}).shrinkage;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    if (!train[i]) rows.loss[static_cast<std::size_t>(i)] *= 1000;
  }
  MemorySource changed = make_source(rows);
  CHECK(learn(changed, start_of(PolicyKind::softmax, rows.schema), options, {}).shrinkage == doctest::Approx(before));
}
