// labels: slow
#include "scrm/engine/learn/learn.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "pass/source/sampled_source.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/shard_writer.hpp"
#include "support/files.hpp"
#include "support/reference/reference_objective.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// Logs of a gaussian policy, losses that favour larger actions where the first feature is large.
LoggedRows gaussian_logs(std::int64_t n, std::uint64_t seed) {
  Schema schema;
  schema.features = 2;
  LoggedRows rows = random_rows(schema, n, seed);
  std::mt19937_64 random(seed + 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const double x = rows.context[2 * i];
    const double action = normal(random);
    rows.action[i] = action;
    rows.propensity[i] = std::exp(-0.5 * action * action) / std::sqrt(2 * std::acos(-1.0));
    rows.loss[i] = 0.5 * (action - 0.4 * x - 0.3) * (action - 0.4 * x - 0.3) - 2 + 0.1 * normal(random);
  }
  return rows;
}

Policy start_policy(const Schema& schema) {
  Policy policy = zero_policy(PolicyKind::gaussian, FeatureMap::linear, schema);
  policy.scale = 0.8;
  return policy;
}

/// Solves the linear system by elimination with pivoting.
std::vector<long double> solve(std::vector<std::vector<long double>> a, std::vector<long double> b) {
  const std::size_t n = b.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c; r < n; ++r) pivot = std::abs(a[r][c]) > std::abs(a[pivot][c]) ? r : pivot;
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (std::size_t r = c + 1; r < n; ++r) {
      const long double factor = a[r][c] / a[c][c];
      for (std::size_t k = c; k < n; ++k) a[r][k] -= factor * a[c][k];
      b[r] -= factor * b[c];
    }
  }
  for (std::size_t c = n; c-- > 0;) {
    for (std::size_t k = c + 1; k < n; ++k) b[c] -= a[c][k] * b[k];
    b[c] /= a[c][c];
  }
  return b;
}

/// Damped Newton on the long-double reference objective, all derivatives by central differences: shares nothing with
/// the engine but the formulas.
long double newton_minimum(ObjectiveProblem problem, const LoggedRows& rows) {
  std::vector<double>& theta = problem.policy.theta;
  const std::size_t n = theta.size();
  const auto value = [&](const std::vector<double>& at) {
    theta = at;
    return reference_objective(problem, rows).objective;
  };
  std::vector<double> point = theta;
  long double current = value(point);
  for (int iteration = 0; iteration < 200; ++iteration) {
    const double h = 1e-4;
    std::vector<long double> gradient(n);
    std::vector<std::vector<long double>> hessian(n, std::vector<long double>(n));
    const auto moved = [&](std::size_t i, double di, std::size_t j, double dj) {
      std::vector<double> at = point;
      at[i] += di;
      at[j] += dj;
      return value(at);
    };
    for (std::size_t i = 0; i < n; ++i) {
      gradient[i] = (moved(i, h, i, 0) - moved(i, -h, i, 0)) / (2 * h);
      for (std::size_t j = 0; j < n; ++j) {
        hessian[i][j] =
            (moved(i, h, j, h) - moved(i, h, j, -h) - moved(i, -h, j, h) + moved(i, -h, j, -h)) / (4 * h * h);
      }
    }
    // Where the objective is not convex, the diagonal grows until the step leads downhill.
    std::vector<long double> step;
    for (long double ridge = 0, slope = 0; !(slope > 0); ridge = ridge == 0 ? 1e-3L : 4 * ridge) {
      std::vector<std::vector<long double>> damped = hessian;
      for (std::size_t j = 0; j < n; ++j) damped[j][j] += ridge;
      step = solve(damped, gradient);
      slope = 0;
      for (std::size_t j = 0; j < n; ++j) slope += step[j] * gradient[j];
      if (ridge > 1e6L) break;
    }
    long double damping = 1;
    std::vector<double> next = point;
    long double lower = current;
    for (int halving = 0; halving < 50; ++halving, damping /= 2) {
      for (std::size_t j = 0; j < n; ++j) next[j] = point[j] - static_cast<double>(damping * step[j]);
      lower = value(next);
      if (lower < current) break;
    }
    if (!(lower < current)) break;
    point = next;
    current = lower;
  }
  return current;
}

LearnOptions options_with(const Estimator* estimator, double lambda) {
  LearnOptions options;
  options.rules.estimator = estimator;
  options.lambdas = {lambda};
  return options;
}

}  // namespace

TEST_CASE("learn: reaches the minimum of an independent Newton search on ten random problems") {
  for (const Estimator* estimator : {&kIpsIxEstimator, &kSnipsEstimator}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      // Enough rows that the objective has one minimum within reach of the start.
      const LoggedRows rows = gaussian_logs(400, 100 + seed);
      MemorySource source = make_source(rows);
      const LearnReport report = learn(source, start_policy(rows.schema), options_with(estimator, 1.0), {});
      const LearnedPolicy& learned = report.policies.front();
      ObjectiveProblem problem{start_policy(rows.schema), {}, nullptr};
      problem.rules.estimator = estimator;
      problem.rules.lambda = 1.0;
      problem.rules.alpha = report.alpha;
      problem.rules.mean_loss = report.loss.mean;
      CAPTURE(seed);
      CAPTURE(estimator->name);
      CHECK(learned.search.status == MinimizeStatus::converged);
      CHECK(learned.value.objective ==
            doctest::Approx(static_cast<double>(newton_minimum(problem, rows))).epsilon(1e-8));
    }
  }
}

TEST_CASE("learn: rows in memory or streamed from shards, one thread or more: the same theta to the bit") {
  const LoggedRows rows = gaussian_logs(50000, 5);
  MemorySource source = make_source(rows);
  const Folder folder;
  for (int shard = 0; shard < 3; ++shard) {
    WriteOptions write;
    write.chunk_rows = 1000;
    write.gzip = shard == 1;
    ShardWriter writer(folder / ("part-" + std::to_string(shard) + ".h5"), rows.schema, write);
    const std::int64_t first = shard * 17001, last = std::min<std::int64_t>(rows.rows, first + 17001);
    for (std::int64_t row = first; row < last; row += 1000) {
      const int count = static_cast<int>(std::min<std::int64_t>(1000, last - row));
      const auto buffer = make_buffer(rows, row, count);
      writer.append(buffer->view(row, count));
    }
    writer.commit();
  }
  LearnOptions options = options_with(&kIpsIxEstimator, 0);
  options.lambda_rule = LambdaRule::automatic;
  options.lambdas = {0.1, 1, 10};
  PassOptions one;
  one.threads = 1;
  const LearnReport first = learn(source, start_policy(rows.schema), options, one);
  for (const int threads : {1, 2, 5}) {
    PassOptions pass;
    pass.threads = threads;
    ShardSource shards(Dataset({folder.path.string()}, {}));
    const LearnReport streamed = learn(shards, start_policy(rows.schema), options, pass);
    const LearnReport held = learn(source, start_policy(rows.schema), options, pass);
    CHECK(streamed.policies.front().policy.theta == first.policies.front().policy.theta);
    CHECK(held.policies.front().policy.theta == first.policies.front().policy.theta);
    CHECK(streamed.policies.front().lambda == first.policies.front().lambda);
  }
}

TEST_CASE("learn: of very many rows, a sample shows the way to the same optimum, at any thread count") {
  LoggedRows rows = gaussian_logs(300'000, 5);
  for (double& x : rows.context) x += 4;  // far from zero: a valley to crawl along
  MemorySource source = make_source(rows);
  for (const Penalty penalty : {Penalty::se, Penalty::sd}) {
    LearnOptions options = options_with(&kIpsIxEstimator, 0.3);
    options.rules.penalty = penalty;
    options.sample_first = false;
    const LearnedPolicy plain = learn(source, start_policy(rows.schema), options, {}).policies.front();
    options.sample_first = true;
    const LearnedPolicy sampled = learn(source, start_policy(rows.schema), options, {}).policies.front();
    CHECK(sampled.search.status == MinimizeStatus::converged);
    CHECK(2 * sampled.search.evaluations < plain.search.evaluations);
    for (std::size_t j = 0; j < plain.policy.theta.size(); ++j) {
      CHECK(std::abs(sampled.policy.theta[j] - plain.policy.theta[j]) < 1e-6);
    }
    // The path is that of all rows, from the start on.
    CHECK(sampled.path.front().objective == plain.path.front().objective);
    CHECK(sampled.path.back().objective == sampled.value.objective);
    for (const int threads : {1, 3}) {
      PassOptions pass;
      pass.threads = threads;
      const LearnedPolicy again = learn(source, start_policy(rows.schema), options, pass).policies.front();
      CHECK(again.policy.theta == sampled.policy.theta);
      CHECK(again.search.evaluations == sampled.search.evaluations);
    }
  }
}

TEST_CASE("learn: a sample that says the contrary of all rows does no harm") {
  LoggedRows rows = gaussian_logs(300'000, 5);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.rows); ++i) {
    if (i / kBlockRows % SampledSource::kStride < SampledSource::kTogether) {
      rows.loss[i] = 0.5 * (rows.action[i] + 3) * (rows.action[i] + 3);
    }
  }
  MemorySource source = make_source(rows);
  LearnOptions options = options_with(&kIpsIxEstimator, 0.3);
  const LearnedPolicy sampled = learn(source, start_policy(rows.schema), options, {}).policies.front();
  options.sample_first = false;
  const LearnedPolicy plain = learn(source, start_policy(rows.schema), options, {}).policies.front();
  CHECK(sampled.search.status == MinimizeStatus::converged);
  for (std::size_t j = 0; j < plain.policy.theta.size(); ++j) {
    CHECK(std::abs(sampled.policy.theta[j] - plain.policy.theta[j]) < 1e-6);
  }
}

TEST_CASE("learn: several lambdas give the policies that each gives alone") {
  const LoggedRows rows = gaussian_logs(3000, 9);
  MemorySource source = make_source(rows);
  LearnOptions options = options_with(&kIpsIxEstimator, 0);
  options.lambdas = {0.01, 1, 100};
  const LearnReport together = learn(source, start_policy(rows.schema), options, {});
  REQUIRE(together.policies.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const LearnReport alone =
        learn(source, start_policy(rows.schema), options_with(&kIpsIxEstimator, options.lambdas[i]), {});
    CHECK(alone.policies.front().policy.theta == together.policies[i].policy.theta);
  }
  // A heavier penalty on the spread of weights keeps the policy nearer to the logged one.
  CHECK(together.policies[2].value.variance < together.policies[0].value.variance);
}

TEST_CASE("learn: theory's lambda is its formula") {
  CHECK(theory_lambda(3, 1000) == doctest::Approx(std::sqrt(18 * (3 * std::log(1000.0) + std::log(40.0)))));
}

TEST_CASE("learn: a bound holds, and restarts never make it worse") {
  const LoggedRows rows = gaussian_logs(2000, 13);
  MemorySource source = make_source(rows);
  LearnOptions options = options_with(&kIpsIxEstimator, 0.1);
  const double free = learn(source, start_policy(rows.schema), options, {}).policies.front().value.objective;
  options.minimize.bound = {{-0.1, 0.1}};
  const LearnedPolicy inside = learn(source, start_policy(rows.schema), options, {}).policies.front();
  for (const double theta : inside.policy.theta) CHECK(std::abs(theta) <= 0.1);
  CHECK(inside.value.objective > free);
  options.minimize.bound.reset();
  options.restarts = 4;
  CHECK(learn(source, start_policy(rows.schema), options, {}).policies.front().value.objective <= free + 1e-9);
}

TEST_CASE("learn: a start where every weight has vanished ends with a status, not an abort") {
  const LoggedRows rows = gaussian_logs(500, 17);
  MemorySource source = make_source(rows);
  Policy far = start_policy(rows.schema);
  far.theta[0] = 1e6;
  const LearnedPolicy learned = learn(source, far, options_with(&kIpsIxEstimator, 0), {}).policies.front();
  CHECK(learned.search.status == MinimizeStatus::zero_gradient);
  CHECK(learned.policy.theta == far.theta);
}

TEST_CASE("learn: what makes no sense is refused in words") {
  LoggedRows rows = gaussian_logs(100, 21);
  MemorySource source = make_source(rows);
  const Policy start = start_policy(rows.schema);
  CHECK_THROWS_WITH_AS(learn(source, start, options_with(&kIpsIxEstimator, -1), {}),
                       doctest::Contains("lambda is -1, but must be zero or above"), Error);
  CHECK_THROWS_WITH_AS(learn(source, start, options_with(&kAdditiveEstimator, 1), {}),
                       doctest::Contains("the estimator 'additive' does not apply: it is for multilabel actions"),
                       Error);
  Policy short_start = start;
  short_start.theta.pop_back();
  CHECK_THROWS_WITH_AS(learn(source, short_start, options_with(&kIpsIxEstimator, 1), {}),
                       doctest::Contains("theta has 2 numbers, the data needs 3"), Error);
  LearnOptions outside = options_with(&kIpsIxEstimator, 1);
  outside.minimize.bound = {{1.0, 2.0}};
  CHECK_THROWS_WITH_AS(learn(source, start, outside, {}), doctest::Contains("outside the bound"), Error);
  for (double& loss : rows.loss) loss = 3;
  MemorySource constant = make_source(rows);
  CHECK_THROWS_WITH_AS(learn(constant, start, options_with(&kIpsIxEstimator, 1), {}),
                       doctest::Contains("every loss is 3"), Error);
}
