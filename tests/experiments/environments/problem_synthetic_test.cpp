// labels: fast statistical
#include "scrm/experiments/problem.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/io/file/error.hpp"

using namespace scrm;

namespace {

constexpr const char* kNames[] = {"gaussian", "pricing", "advertising", "categorical", "multilabel"};

std::shared_ptr<const BanditProblem> problem_of(const std::string& name, std::uint64_t seed, RunOptions options) {
  return make_problem_factory(name, "").make(seed, options);
}

std::shared_ptr<const BanditProblem> problem_of(const std::string& name, std::uint64_t seed) {
  return problem_of(name, seed, make_problem_factory(name, "").defaults);
}

/// Calls `visit(block)` for every block of the source.
template <class Visit>
void each_block(Source& source, Visit visit) {
  const auto loader = source.make_loader();
  Audit audit;
  for (std::int64_t b = 0; b < source.blocks(); ++b) {
    const auto group = source.fetch(b, 1);
    visit(source.load(*group, b, *loader, audit));
  }
}

/// Loss and propensity of every row, which no two different rows share.
std::vector<double> losses_and_propensities(Source& source) {
  std::vector<double> out;
  each_block(source, [&](const Block& block) {
    for (int i = 0; i < block.rows; ++i) {
      out.push_back(block.loss[i]);
      out.push_back(block.propensity != nullptr ? block.propensity[i] : block.log_propensity[i]);
    }
  });
  return out;
}

bool weights_are_one(Source& source, const Policy& policy) {
  const auto target = make_target_policy(policy, source.schema(), "policy");
  PolicyScratch scratch, output;
  bool one = true;
  each_block(source, [&](const Block& block) {
    double* weights = output.columns(0, 1);
    target->weights(block, scratch, weights);
    one = one && std::all_of(weights, weights + block.rows, [](double w) { return w == 1.0; });
  });
  return one;
}

Policy moved(Policy policy, double by) {
  for (double& theta : policy.theta) theta += by;
  return policy;
}

}  // namespace

TEST_CASE("gaussian problem: the test loss is the closed form, and the optimum -0.964") {
  const auto problem = problem_of("gaussian", 3);
  CHECK(problem->start().theta == std::vector<double>{2.5});
  CHECK(problem->start().scale == 0.3);
  for (const double theta : {-3.0, 0.0, 1.0, 2.5}) {
    for (const double scale : {0.1, 0.3, 1.0}) {
      Policy policy = problem->start();
      policy.theta = {theta};
      policy.scale = scale;
      const double expected = -1 + 0.2 * ((theta - 1) * (theta - 1) + scale * scale + 0.09);
      CHECK(problem->test_loss(policy) == doctest::Approx(expected).epsilon(1e-14));
    }
  }
  REQUIRE(problem->optimum().has_value());
  CHECK(*problem->optimum() == doctest::Approx(-0.964).epsilon(1e-12));
  // Without noise: the spread of y over 10,000 test rows is 0.3, so the mean miss strays by 0.003, losses by 0.0003.
  const Policy skyline = problem->skyline();
  CHECK(skyline.scale == 0);
  CHECK(skyline.theta[0] == doctest::Approx(1).epsilon(0.015));
  CHECK(problem->test_loss(skyline) == doctest::Approx(-1 + 0.2 * 0.09).epsilon(0.0015));
}

TEST_CASE("gaussian problem: as published, all rows of a batch are charged against one number") {
  RunOptions options = make_problem_factory("gaussian", "").defaults;
  for (const Protocol protocol : {Protocol::paper, Protocol::published}) {
    options.protocol = protocol;
    const auto problem = problem_of("gaussian", 4, options);
    std::vector<double> shared;
    for (int b = 0; b < 3; ++b) {
      const auto batch = problem->batch({problem->start(), false}, b);
      // loss = 0.2 (a − y)² − 1 leaves two candidates for y; one of them fits every row, or none does.
      std::vector<double> candidates;
      each_block(*batch, [&](const Block& block) {
        const double miss = std::sqrt(5 * (block.loss[0] + 1));
        candidates = {block.action[0] - miss, block.action[0] + miss};
        std::erase_if(candidates, [&](double y) {
          for (int i = 0; i < block.rows; ++i) {
            const double own = block.action[i] - y;
            if (std::abs(0.2 * own * own - 1 - block.loss[i]) > 1e-9) return true;
          }
          return false;
        });
      });
      CHECK(candidates.size() == (protocol == Protocol::published ? 1 : 0));
      if (!candidates.empty()) shared.push_back(candidates.front());
    }
    if (shared.size() == 3) CHECK((shared[0] != shared[1] && shared[1] != shared[2]));
  }
}

TEST_CASE("pricing problem: skyline, best policy and start lose what they should") {
  // Ten thousand contexts and losses of spread 1.9: a standard error of 0.019; four of them, false alarms 6e-5.
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CAPTURE(seed);
    const auto problem = problem_of("pricing", seed);
    const Policy skyline = problem->skyline();
    CHECK(std::abs(problem->test_loss(skyline) + 5.83) < 0.08);
    REQUIRE(problem->optimum().has_value());
    CHECK(std::abs(*problem->optimum() + 5.605) < 0.08);
    // Both meet the same contexts: noise of 0.5 in the price costs 0.6 E[x̄] 0.25 = 0.225.
    CHECK(std::abs(*problem->optimum() - problem->test_loss(skyline) - 0.225) < 0.01);
    for (std::size_t j = 1; j <= 3; ++j) CHECK(skyline.theta[j] == doctest::Approx(1 / 1.8).epsilon(0.02));
    const Policy& start = problem->start();
    CHECK(start.kind == PolicyKind::gaussian);
    CHECK(start.scale == 0.5);
    REQUIRE(start.theta.size() == 11);
    CHECK(start.theta[0] == 1.0);
    for (std::size_t j = 1; j < 11; ++j) CHECK(std::abs(start.theta[j]) < 0.05);
    CHECK(start.theta[1] != 0);
    CHECK(start.theta != problem_of("pricing", seed + 1)->start().theta);
    CHECK(problem->baseline_policy().theta == start.theta);
    CHECK(problem->first_policy(true).scale == 1.0);
    // Start policies of the paper lose 3.414 ± 0.162.
    CHECK(std::abs(problem->test_loss(start) + 3.414) < 0.6);
  }
}

TEST_CASE("advertising problem: tests of the published protocol know a tenth of what they cannot know") {
  RunOptions options = make_problem_factory("advertising", "").defaults;
  double gain = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    options.protocol = Protocol::paper;
    const auto paper = problem_of("advertising", seed, options);
    options.protocol = Protocol::published;
    const auto published = problem_of("advertising", seed, options);
    const Policy skyline = paper->skyline();
    CHECK(skyline.theta == published->skyline().theta);
    CHECK(paper->start().theta == published->start().theta);
    // No noise, no leak.
    CHECK(paper->test_loss(skyline) == published->test_loss(skyline));
    CHECK(std::abs(paper->test_loss(skyline) + 0.739) < 0.015);
    Policy noisy = skyline;
    noisy.scale = 0.3;
    gain += (paper->test_loss(noisy) - published->test_loss(noisy)) / 3;
    // The logs are the same.
    const auto a = paper->batch({paper->start(), false}, 1), b = published->batch({published->start(), false}, 1);
    CHECK(losses_and_propensities(*a) == losses_and_propensities(*b));
  }
  CHECK(gain > 0.005);
  CHECK(gain < 0.013);
}

TEST_CASE("advertising problem: as published, one draw of each row repeats its potential's, the others are fresh") {
  const auto paper = make_environment("advertising", {}),
             published = make_environment("advertising", {.published = BatchPlan{}});
  constexpr int kDraws = 10;
  std::vector<double> context(2 * kBlockRows), state(kBlockRows), fresh(kDraws * kBlockRows), leaky(fresh.size());
  const EnvironmentRows rows{{7, 1}, 100, 500, context.data(), state.data()};
  published->draw(rows);
  paper->test_normals(rows, kDraws, fresh.data());
  published->test_normals(rows, kDraws, leaky.data());
  int groups[2] = {};
  for (std::size_t i = 0; i < 500; ++i) {
    int changed = -1;
    for (int d = 0; d < kDraws; ++d) {
      const std::size_t at = static_cast<std::size_t>(d) * kBlockRows + i;
      if (leaky[at] == fresh[at]) continue;
      CHECK(changed == -1);
      changed = d;
      CHECK(state[i] == std::abs((d == 0 ? 3.0 : 1.0) + 0.5 * leaky[at]));
    }
    REQUIRE((changed == 0 || changed == 1));
    ++groups[changed];
  }
  CHECK(groups[0] > 150);
  CHECK(groups[1] > 150);
  // Fewer draws than groups: nothing is written past them.
  std::vector<double> one(2 * kBlockRows, 77.0);
  published->test_normals(rows, 1, one.data());
  CHECK(std::count(one.begin() + kBlockRows, one.end(), 77.0) == kBlockRows);
}

TEST_CASE("synthetic problems: batches are ranges of one stream, whose own policy has weights of exactly 1") {
  for (const char* name : kNames) {
    CAPTURE(name);
    RunOptions options = make_problem_factory(name, "").defaults;
    options.batches = {700, Growth::doubling};
    options.rollouts = 4;
    const auto factory = make_problem_factory(name, "");
    const auto problem = factory.make(11, options);
    const std::vector<LoggingPolicy> logging_policies = {{problem->first_policy(true), false},
                                                         {problem->start(), false},
                                                         {moved(problem->start(), 0.1), true},
                                                         {moved(problem->start(), -0.1), true}};
    std::vector<double> apart;
    MemorySource grown(problem->schema());
    for (int b = 0; b < 4; ++b) {
      const auto batch = problem->batch(logging_policies[static_cast<std::size_t>(b)], b);
      CHECK(batch->rows() == 700 << b);
      CHECK(batch->rows() == problem->shape().batch_rows(b));
      CHECK(problem->shape().rows_before[static_cast<std::size_t>(b)] * 2 == static_cast<std::int64_t>(apart.size()));
      CHECK(weights_are_one(*batch, logging_policies[static_cast<std::size_t>(b)].policy));
      const std::vector<double> rows = losses_and_propensities(*batch);
      apart.insert(apart.end(), rows.begin(), rows.end());
      grown.extend(*batch, {});
      CHECK(grown.rows() == static_cast<std::int64_t>(apart.size()) / 2);
    }
    const std::vector<double> held = losses_and_propensities(grown);
    const auto again = problem->regenerated_batches(logging_policies);
    REQUIRE(again != nullptr);
    CHECK((held == apart));
    CHECK((losses_and_propensities(*again) == apart));
    CHECK(again->schema().label_propensity == problem->schema().label_propensity);
  }
}

TEST_CASE("synthetic problems: every batch has the problem's schema, also where bits are mixed jointly") {
  for (const char* name : kNames) {
    for (const Mixing mixing : {Mixing::label, Mixing::joint}) {
      RunOptions options = make_problem_factory(name, "").defaults;
      options.mixing = mixing;
      const auto problem = problem_of(name, 1, options);
      for (const Policy& policy : {problem->first_policy(true), problem->start()}) {
        const auto batch = problem->batch({policy, false}, 0);
        CAPTURE(name);
        CHECK(batch->schema().label_propensity == problem->schema().label_propensity);
        CHECK(batch->schema().propensity == problem->schema().propensity);
        CHECK(batch->schema().features == problem->schema().features);
      }
    }
  }
}

TEST_CASE("synthetic problems: tests are fixed by the seed, and change with it") {
  for (const char* name : kNames) {
    CAPTURE(name);
    const auto a = problem_of(name, 1), same = problem_of(name, 1), b = problem_of(name, 2);
    const Policy policy = moved(a->start(), 0.05);
    CHECK(a->test_loss(policy) == same->test_loss(policy));
    CHECK(a->test_loss(policy) == a->test_loss(policy));
    if (std::string(name) != "gaussian") CHECK(a->test_loss(policy) != b->test_loss(policy));
    const ProblemFactory factory = make_problem_factory(name, "");
    CHECK(factory.knows_right_actions);
    CHECK(a->constant_policy(true).has_value() == (factory.action_kind != ActionKind::continuous));
    CHECK(a->constant_policy(false).has_value() == (factory.action_kind == ActionKind::multilabel));
  }
}

TEST_CASE("problem factories: a name that is none, and data that is not there, say what to do") {
  const auto complaint = [](const std::string& name) {
    try {
      make_problem_factory(name, "no/such/folder");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(complaint("prcing").find("did you mean \"pricing\"") != std::string::npos);
  CHECK(complaint("scene").find("scene-train.arff") != std::string::npos);
  CHECK(complaint("scene").find("SCRM_DATA_DIR") != std::string::npos);
  CHECK(complaint("folder/none.h5").find("none.h5") != std::string::npos);
}
