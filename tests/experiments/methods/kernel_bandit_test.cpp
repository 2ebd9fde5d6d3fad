// labels: slow
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "methods/kernel_bandit.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/io/file/error.hpp"
#include "support/rows/labelled_problems.hpp"
#include "sweep/run/run_rollouts.hpp"

using namespace scrm;
using namespace scrm_test;

namespace {

/// Labels follow the sign of a feature each, without noise; all of them are one as often as zero.
LabelledData separable_data(std::int64_t rows, int labels) {
  std::mt19937_64 random(4);
  LabelledData data;
  data.name = "separable";
  data.rows = rows;
  data.features = labels;
  data.labels = labels;
  for (std::int64_t i = 0; i < rows * labels; ++i) {
    const double x = scrm::testing::normal(random);
    data.context.push_back(x);
    data.label.push_back(x > 0 ? 1 : 0);
  }
  return data;
}

RunRecord rolled_out(const BanditProblem& problem, const char* method, double lambda, const RunOptions& options) {
  limit_openblas_to_one_thread();
  const std::vector<HyperParameters> runs = {{{LambdaKind::given, lambda}, 0.0}};
  const PassOptions pass;
  const LearnerSetup setup{problem, options, runs, 0, pass, {}};
  return run_rollouts(find_method(method), setup, nullptr).front();
}

std::string refusal(const BanditProblem& problem, const char* method, double lambda, const RunOptions& options) {
  try {
    rolled_out(problem, method, lambda, options);
  } catch (const Error& error) {
    return error.what();
  }
  FAIL("nothing was thrown");
  return "";
}

}  // namespace

TEST_CASE("sbpe: with one integer it plays one action whatever the context, for it fits no product of the two") {
  const LabelledData data = made_up_data(300, 4, 3);
  RunOptions options;
  options.rollouts = 3;
  const auto problem = labelled_problem(data, 1, options);
  const std::vector<HyperParameters> runs = {{{LambdaKind::given, 0}, 0.0}};
  limit_openblas_to_one_thread();
  const PassOptions pass;
  const LearnerSetup setup{*problem, options, runs, 0, pass, {}};
  const auto learner = find_method("sbpe").make(setup);
  LoggingPolicy logging_policy{problem->first_policy(true), false, nullptr};
  for (int b = 0; b < 3; ++b) {
    const auto batch = problem->batch(logging_policy, b);
    learner->learn(*batch, b);
    logging_policy = learner->next_logging_policy();
    const auto next = problem->batch(logging_policy, b);
    const auto loader = next->make_loader();
    Audit audit;
    const auto group = next->fetch(0, 1);
    const Block block = next->load(*group, 0, *loader, audit);
    for (int i = 0; i < block.rows; ++i) {
      CHECK(block.log_propensity[i] == 0);
      for (int k = 0; k < 3; ++k) {
        CHECK(block.bits[k * kBlockRows + i] == block.bits[k * kBlockRows]);
        CHECK(block.label_propensity[k * kBlockRows + i] == 1);
      }
    }
  }
}

TEST_CASE("kernel bandits: bits of their own beat both trivial policies where labels can be told apart") {
  const LabelledData data = separable_data(600, 3);
  RunOptions options;
  options.rollouts = 4;
  const auto problem = labelled_problem(data, 1, options);
  const double zeros = problem->test_loss(*problem->constant_policy(false));
  const double majority = problem->test_loss(*problem->constant_policy(true));
  options.bandit.encoding = ActionEncoding::bits;
  for (const auto& [method, lambda] : {std::pair{"sbpe", 0.0}, {"bkucb", 1.0}}) {
    const RunRecord record = rolled_out(*problem, method, lambda, options);
    CHECK(record.final_loss < std::min(zeros, majority) - 0.2);
    CHECK(record.curves.at("dimension").back() == 16);
    CHECK(record.curves.at("trace_error").back() == 0);
    const double plain = record.curves.at("loss_without_epsilon").back();
    CHECK(record.final_loss == doctest::Approx((1 - options.epsilon) * plain + options.epsilon / 2).epsilon(1e-12));
    CHECK(record.theta.empty());
  }
}

TEST_CASE("kernel bandits: the test loss of a rule is that of a policy as certain") {
  const LabelledData data = made_up_data(90, 3, 4);
  const auto problem = labelled_problem(data, 2, {});
  for (const LabelledData& rows : {data, as_sparse(data)}) {
    const auto same = labelled_problem(rows, 2, {});
    const ActionRule none = [](const Block& block, BlockBuffer& actions) {
      for (int k = 0; k < block.num_actions; ++k) std::fill_n(actions.bits() + k * kBlockRows, block.rows, 0);
    };
    CHECK(same->test_loss(none).loss == doctest::Approx(problem->test_loss(*problem->constant_policy(false))));
  }
}

TEST_CASE("kernel bandits: sparse contexts are learned from as dense ones are") {
  const LabelledData data = made_up_data(200, 5, 3);
  RunOptions options;
  options.rollouts = 3;
  const auto dense = labelled_problem(data, 1, options), sparse = labelled_problem(as_sparse(data), 1, options);
  for (const ActionEncoding encoding : {ActionEncoding::integer, ActionEncoding::bits}) {
    options.bandit.encoding = encoding;
    CHECK(rolled_out(*dense, "bkucb", 10, options).loss == rolled_out(*sparse, "bkucb", 10, options).loss);
  }
}

TEST_CASE("kernel bandits: rows enter batch by batch, and few of them or no context will do") {
  RunOptions options;
  options.rollouts = 3;
  options.batches = {1, Growth::linear};
  for (const char* name : {"gaussian", "pricing"}) {
    const auto problem = make_problem_factory(name, "").make(0, options);
    for (const KernelKind kind : {KernelKind::linear, KernelKind::polynomial, KernelKind::gaussian}) {
      options.bandit.kernel = kind;
      const RunRecord record = rolled_out(*problem, "bkucb", 1, options);
      CHECK(record.rows == std::vector<std::int64_t>{1, 3, 6});
      CHECK(std::all_of(record.loss.begin(), record.loss.end(), [](double loss) { return std::isfinite(loss); }));
    }
  }
}

TEST_CASE("kernel bandits: batches without rows, contexts without features and one label will do") {
  RunOptions options;
  options.rollouts = 10;
  for (const auto& [rows, features, labels] : {std::tuple{4, 1, 1}, {3, 0, 2}, {40, 0, 1}, {12, 3, 64}}) {
    const LabelledData data = made_up_data(rows, features, labels);
    const auto problem = labelled_problem(data, 1, options);
    for (const ActionEncoding encoding : {ActionEncoding::integer, ActionEncoding::bits}) {
      if (labels == 64 && encoding == ActionEncoding::integer) continue;
      options.bandit.encoding = encoding;
      for (const auto& [method, lambda] : {std::pair{"sbpe", 0.0}, {"bkucb", 1.0}}) {
        const RunRecord record = rolled_out(*problem, method, lambda, options);
        CHECK(std::all_of(record.loss.begin(), record.loss.end(), [](double l) { return l >= 0 && l <= 1; }));
      }
    }
  }
}

TEST_CASE("kernel bandits: inducing points are as many as asked for, and what they leave out is told") {
  RunOptions options;
  options.rollouts = 2;
  options.bandit.kernel = KernelKind::gaussian;
  options.bandit.length = 2;
  const auto problem = make_problem_factory("pricing", "").make(0, options);
  options.bandit.points = 30;
  const RunRecord few = rolled_out(*problem, "bkucb", 1, options);
  CHECK(few.curves.at("dimension").back() == 30);
  CHECK(few.curves.at("trace_error").back() > 0.01);
  options.bandit.points.reset();
  const RunRecord exact = rolled_out(*problem, "bkucb", 1, options);
  CHECK(exact.curves.at("dimension").back() == 300);
  CHECK(exact.curves.at("trace_error").back() == 0);
}

TEST_CASE("kernel bandits: contexts are the points where their monomials are more") {
  RunOptions options;
  Schema schema;
  schema.replays = 4;
  const auto chosen = [&](std::int64_t features, std::int64_t rows) {
    return ridge_options({{.kind = KernelKind::polynomial, .features = features}, 6}, schema, options, 1, rows);
  };
  CHECK(chosen(294, 6448).solver == RidgeSolver::inducing_points);
  CHECK_FALSE(chosen(294, 6448).points);
  CHECK(KernelRidge::max_dimension(chosen(294, 6448), 6448) == 1612 + 295 + 1);
  CHECK(chosen(103, 6476).solver == RidgeSolver::inducing_points);
  CHECK(chosen(294, 40'000).points == 1000);
  CHECK(chosen(20, 6448).solver == RidgeSolver::primal);
}

TEST_CASE("kernel bandits: bits with too many features for widths are learned from by their means") {
  RunOptions options;
  options.rollouts = 2;
  options.bandit.encoding = ActionEncoding::bits;
  const auto problem = labelled_problem(separable_data(2000, 64), 1, options);
  const StateSpace space{{.kind = KernelKind::bits, .features = 64, .actions = 64}, 64};
  const std::int64_t rows = problem->shape().batch_rows(0) + problem->shape().batch_rows(1);
  REQUIRE(ridge_options(space, problem->schema(), options, 1, rows).solver == RidgeSolver::conjugate_gradient);
  const RunRecord record = rolled_out(*problem, "bkucb", 1, options);
  CHECK(record.curves.at("dimension").back() == 65 * 65);
  CHECK(record.final_loss < problem->test_loss(*problem->constant_policy(false)) - 0.1);
}

TEST_CASE("kernel bandits: what cannot be is refused with a way out") {
  RunOptions options;
  options.rollouts = 2;
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const auto wide = labelled_problem(made_up_data(30, 2, 31), 1, options);
  CHECK(contains(refusal(*wide, "sbpe", 0, options), "encoding = \"bits\""));
  const auto problem = labelled_problem(made_up_data(30, 2, 11), 1, options);
  CHECK(contains(refusal(*problem, "bkucb", -1, options), "negative"));
  options.bandit.kernel = KernelKind::gaussian;
  CHECK(contains(refusal(*problem, "bkucb", 1, options), "polynomial"));
  options.bandit.encoding = ActionEncoding::bits;
  CHECK(contains(refusal(*problem, "bkucb", 1, options), "leave kernel out"));
  const auto categories = make_problem_factory("categorical", "").make(0, options);
  CHECK(contains(refusal(*categories, "sbpe", 0, options), "categories"));
  // Every context is met four times with one action: a gaussian kernel without a ridge has no solution of its own.
  options.bandit.encoding = ActionEncoding::integer;
  const auto few_labels = labelled_problem(made_up_data(30, 2, 2), 1, options);
  const std::string repeated = refusal(*few_labels, "bkucb", 0, options);
  CHECK(contains(repeated, "batch 0: row "));
  CHECK(contains(repeated, "bandit_lambdas"));
}
