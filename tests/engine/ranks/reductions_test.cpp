// labels: fast
// Every reduction goes from rank to rank: whatever a transfer leaves out changes a number here.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/estimate/weight_histogram.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/policy/exploration.hpp"
#include "support/rows/random_rows.hpp"
#include "support/same_on_ranks.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

// Enough for every rank to have some, and an end that fills no block.
constexpr std::int64_t kRows = 5 * 2048 + 77;

/// Rows of probabilities that are not far from those of any policy here, whose losses smoothing can take.
LoggedRows mild_rows(const Schema& schema, std::int64_t rows, std::uint64_t seed) {
  LoggedRows out = random_rows(schema, rows, seed, 0.5);
  for (double& loss : out.loss) loss = -std::abs(loss);
  return out;
}

std::vector<NamedPolicy> two_policies(PolicyKind kind, const Schema& schema) {
  std::vector<NamedPolicy> out;
  for (const std::uint64_t seed : {1, 2}) {
    const std::string name = "p" + std::to_string(seed);
    out.push_back({name, make_target_policy(random_policy(kind, schema, seed, FeatureMap::linear, 0.1, Mixing::label),
                                            schema, name)});
  }
  return out;
}

ValueAndSlope root(double w, double) {
  return {std::sqrt(w), 0.5 / std::sqrt(w)};
}

/// An estimator from outside, whose sums are its own.
const Estimator kRoot = {
    .name = "root",
    .formula = "mean(sqrt(w) y)",
    .transform = WeightTransform::given,
    .weight_function = for_each_weight<root>,
};

const PolicyKind kKinds[] = {PolicyKind::gaussian, PolicyKind::softmax, PolicyKind::multilabel};

}  // namespace

TEST_CASE("ranks: every kind of interval has the same bits, against the logged actions and against a policy") {
  register_estimator(kRoot);
  for (const PolicyKind kind : kKinds) {
    const LoggedRows logged = mild_rows(schema_for(kind, 2), kRows, 5);
    for (const IntervalKind interval :
         {IntervalKind::student, IntervalKind::cressie_read, IntervalKind::clopper_pearson, IntervalKind::sequence}) {
      for (const char* baseline : {kLoggedBaseline, "p1"}) {
        check_same_on_ranks({2, 5}, [&](const PassOptions& pass) {
          MemorySource source = make_source(logged);
          EvaluateOptions options;
          options.interval = interval;
          options.baseline = baseline;
          options.clip = 3;
          options.alpha = 0.01;
          options.outcome_range = OutcomeRange{-10, 0};
          options.max_weight = 20;  // so that no interval is the whole range
          return bits_of(evaluate(source, two_policies(kind, logged.schema), options, pass));
        });
      }
    }
  }
}

TEST_CASE("ranks: estimators with a model and with smoothing have the same bits, and so has the model") {
  for (const PolicyKind kind : kKinds) {
    for (const bool sparse : {false, true}) {
      CAPTURE(sparse);
      const LoggedRows logged = mild_rows(schema_for(kind, 2, sparse), sparse ? 3 * 2048 + 9 : kRows, 6);
      for (const char* baseline : {kLoggedBaseline, "p1"}) {
        check_same_on_ranks({2, 5}, [&](const PassOptions& pass) {
          MemorySource source = make_source(logged);
          EvaluateOptions options;
          options.model = fit_ridge_model(source, {}, pass);
          options.baseline = baseline;
          options.estimators = {"ips", "dm", "dr", "sndr", "switch-dr", "dros", "ls"};
          return bits_of(options.model->penalty().value_or(-1)) +
                 bits_of(evaluate(source, two_policies(kind, logged.schema), options, pass));
        });
      }
    }
  }
}

TEST_CASE("ranks: every estimator that can be learned with finds the same parameters") {
  for (const PolicyKind kind : kKinds) {
    const LoggedRows logged = mild_rows(schema_for(kind, 2), 2 * 2048 + 3, 7);
    std::vector<const char*> names = {"ips", "clipped", "snips", "ips-ix", "ls", "dm", "dr", "dros"};
    if (kind == PolicyKind::multilabel) names.insert(names.end(), {"additive", "additive-dr"});
    for (const char* name : names) {
      CAPTURE(name);
      check_same_on_ranks({2, 5}, [&](const PassOptions& pass) {
        MemorySource source = make_source(logged);
        LearnOptions options;
        options.rules.estimator = &find_learning_estimator(name);
        options.lambdas = {0.1};
        options.minimize.max_iterations = 3;
        options.whiten = true;
        const LearnReport report =
            learn(source, random_policy(kind, logged.schema, 3, FeatureMap::linear, 0.1, Mixing::label), options, pass);
        std::string text = bits_of(report.loss) + bits_of(report.policies.front().value.risk);
        for (const double theta : report.policies.front().policy.theta) text += bits_of(theta);
        return text;
      });
    }
  }
}

TEST_CASE("ranks: histograms of weights and exploration count every row once") {
  const LoggedRows logged = mild_rows(schema_for(PolicyKind::softmax, 2), kRows, 8);
  check_same_on_ranks({2, 5}, [&](const PassOptions& pass) {
    MemorySource source = make_source(logged);
    std::string text;
    for (const WeightHistogram& one : weight_histograms(source, two_policies(PolicyKind::softmax, logged.schema), pass))
      for (int bin = 0; bin < WeightHistogram::kBins; ++bin) text += std::to_string(one.count(bin)) + " ";
    const auto found = measure_exploration(source, random_policy(PolicyKind::softmax, logged.schema, 1), pass);
    text += bits_of(found->rows) + bits_of(found->smallest_probability) + bits_of(found->decided) +
            bits_of(found->ess_share);
    for (const double probability : found->mean_probability) text += bits_of(probability);
    return text;
  });
}

TEST_CASE("ranks: several rollouts with known policies have the same bits") {
  const Schema schema = schema_for(PolicyKind::softmax, 2);
  const std::vector<LoggedRows> rollouts = {mild_rows(schema, kRows, 9), mild_rows(schema, 3 * 2048 + 5, 10)};
  check_same_on_ranks({2, 5}, [&](const PassOptions& pass) {
    std::vector<MemorySource> sources;
    for (const LoggedRows& rows : rollouts) sources.push_back(make_source(rows));
    const std::vector<NamedPolicy> policies = two_policies(PolicyKind::softmax, schema);
    EvaluationReport report = evaluate(sources[0], policies, {}, pass);
    add_multiple_importance({&sources[0], &sources[1]}, {policies[0].policy, policies[1].policy}, policies, {}, pass,
                            report);
    return bits_of(report);
  });
}
