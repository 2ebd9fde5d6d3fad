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
#include "support/kernel_reference.hpp"
#include "support/labelled_problems.hpp"
#include "sweep/run_rollouts.hpp"

using namespace scrm;
using namespace scrm_test;
using scrm::testing::RidgeRows;
using scrm::testing::textbook;

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

/// Rows as a bandit's ridge is given them, of contexts and actions that are drawn.
struct Fitted {
  StateSpace space;
  RidgeRows rows;
  std::shared_ptr<KernelRidge> ridge;
};

Fitted fitted(const StateSpace& space, double lambda, std::int64_t n) {
  limit_openblas_to_one_thread();
  std::mt19937_64 random(static_cast<std::uint64_t>(n));
  Fitted out{space, {}, nullptr};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < space.kernel.features; ++j) out.rows.states.push_back(scrm::testing::normal(random));
    for (std::int64_t k = 0; k < space.kernel.actions; ++k) {
      const auto choices = static_cast<std::uint64_t>(space.scalar_action() ? space.grid().count : 2);
      const auto index = static_cast<std::int64_t>(random() % choices);
      out.rows.states.push_back(space.scalar_action() ? space.grid().action(index) : static_cast<double>(index));
    }
    out.rows.y.push_back(scrm::testing::normal(random));
  }
  KernelRidgeOptions options;
  options.kernel = space.kernel;
  options.lambda = lambda;
  out.ridge = std::make_shared<KernelRidge>(options);
  out.ridge->add(out.rows.states, out.rows.y);
  return out;
}

/// Contexts, each met `replays` times, and the actions that a rule names for them.
struct Played {
  BlockBuffer buffer;
  Block block;

  Played(const StateSpace& space, int contexts, int replays) : buffer(schema(space, replays)) {
    std::mt19937_64 random(99);
    for (int i = 0; i < contexts; ++i) {
      for (std::int64_t j = 0; j < space.kernel.features; ++j) {
        buffer.context_f64()[j * buffer.context_stride() + i] = scrm::testing::normal(random);
      }
    }
    block = buffer.view(0, contexts * replays);
  }

  static Schema schema(const StateSpace& space, int replays) {
    Schema schema;
    schema.action_kind = space.labels > 0 ? ActionKind::multilabel : ActionKind::continuous;
    schema.num_actions = space.labels;
    schema.features = space.kernel.features;
    schema.propensity = PropensityForm::logarithm;
    schema.replays = replays;
    return schema;
  }

  /// The action of a row as the numbers of a state.
  std::vector<double> action(const StateSpace& space, int row) const {
    if (space.labels == 0) return {block.action[row]};
    std::vector<double> bits;
    double integer = 0;
    for (int k = 0; k < space.labels; ++k) {
      bits.push_back(block.bits[k * kBlockRows + row]);
      integer = 2 * integer + bits.back();
    }
    return space.scalar_action() ? std::vector<double>{integer} : bits;
  }
};

/// Every action there is, as the numbers of a state.
std::vector<std::vector<double>> all_actions(const StateSpace& space) {
  std::vector<std::vector<double>> out;
  if (space.scalar_action()) {
    for (std::int64_t i = 0; i < space.grid().count; ++i) out.push_back({space.grid().action(i)});
    return out;
  }
  for (int i = 0; i < 1 << space.labels; ++i) {
    out.emplace_back();
    for (int k = 0; k < space.labels; ++k) out.back().push_back(i >> k & 1);
  }
  return out;
}

std::vector<double> values(const Fitted& fit, double lambda, double beta, const std::vector<double>& context,
                           const std::vector<std::vector<double>>& actions) {
  std::vector<double> queries;
  for (const std::vector<double>& action : actions) {
    queries.insert(queries.end(), context.begin(), context.end());
    queries.insert(queries.end(), action.begin(), action.end());
  }
  const auto truth = textbook(fit.space.kernel, lambda, fit.rows, queries);
  std::vector<double> out = truth.mean;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += beta * truth.width[i];
  return out;
}

/// No action there is has a larger value by the textbook than the one that the rule names, but for rounding.
void check_best(const StateSpace& space, double lambda, double beta) {
  const Fitted fit = fitted(space, lambda, 60);
  Played played(space, 6, 2);
  best_action_rule(fit.ridge, space, beta)(played.block, played.buffer);
  const std::vector<std::vector<double>> actions = all_actions(space);
  for (int row = 0; row < played.block.rows; ++row) {
    const std::vector<double> all = values(fit, lambda, beta, context_of(played.block, row / 2), actions);
    const auto named = std::find(actions.begin(), actions.end(), played.action(space, row));
    REQUIRE(named != actions.end());
    const double best = *std::max_element(all.begin(), all.end());
    const double found = all[static_cast<std::size_t>(named - actions.begin())];
    CHECK(best - found <= 1e-9 * (1 + std::abs(best)));
  }
}

StateSpace space_of(KernelKind kind, std::int64_t features, int labels, double length = 1.5) {
  StateSpace space;
  space.kernel = {.kind = kind, .features = features, .length = length};
  space.labels = labels;
  if (kind == KernelKind::bits) space.kernel.actions = labels;
  return space;
}

}  // namespace

TEST_CASE("kernel bandits: continuous actions are the best of the grid by the textbook") {
  for (const std::int64_t features : {0, 1, 3}) {
    for (const KernelKind kind : {KernelKind::linear, KernelKind::polynomial, KernelKind::gaussian}) {
      CAPTURE(features);
      CAPTURE(static_cast<int>(kind));
      check_best(space_of(kind, features, 0), 1, 0);
      check_best(space_of(kind, features, 0), 10, 0.7);
    }
  }
  check_best(space_of(KernelKind::linear, 3, 0), 0, 0);
}

TEST_CASE("kernel bandits: bits are the best of all there are by the textbook") {
  for (const int labels : {1, 2, 5, 8}) {
    CAPTURE(labels);
    for (const KernelKind kind : {KernelKind::linear, KernelKind::polynomial, KernelKind::gaussian}) {
      check_best(space_of(kind, 2, labels), 1, 0);
      check_best(space_of(kind, 2, labels), 10, 0.7);
    }
    check_best(space_of(KernelKind::bits, 2, labels), 1, 0);
  }
}

TEST_CASE("kernel bandits: optimistic bits are the best of the mean's and their neighbours by one label") {
  const double lambda = 2, beta = 1.5;
  bool differs = false;
  for (const int labels : {1, 4, 6}) {
    const StateSpace space = space_of(KernelKind::bits, 2, labels);
    const Fitted fit = fitted(space, lambda, 40);
    Played by_mean(space, 8, 1), optimistic(space, 8, 1);
    best_action_rule(fit.ridge, space, 0)(by_mean.block, by_mean.buffer);
    best_action_rule(fit.ridge, space, beta)(optimistic.block, optimistic.buffer);
    for (int row = 0; row < 8; ++row) {
      std::vector<std::vector<double>> near(static_cast<std::size_t>(labels) + 1, by_mean.action(space, row));
      for (std::size_t k = 1; k < near.size(); ++k) near[k][k - 1] = 1 - near[k][k - 1];
      const std::vector<double> all = values(fit, lambda, beta, context_of(by_mean.block, row), near);
      const auto best = static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
      CHECK(optimistic.action(space, row) == near[best]);
      differs = differs || best > 0;
    }
  }
  CHECK(differs);
}

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
    return ridge_options(space_of(KernelKind::polynomial, features, 6), schema, options, 1, rows);
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
  const StateSpace space = space_of(KernelKind::bits, 64, 64);
  const std::int64_t rows = problem->shape().batch_rows(0) + problem->shape().batch_rows(1);
  REQUIRE(ridge_options(space, problem->schema(), options, 1, rows).solver == RidgeSolver::conjugate_gradient);
  const RunRecord record = rolled_out(*problem, "bkucb", 1, options);
  CHECK(record.curves.at("dimension").back() == 65 * 65);
  CHECK(record.final_loss < problem->test_loss(*problem->constant_policy(false)) - 0.1);
}

TEST_CASE("kernel bandits: 22 labels as one integer are chosen by points as by all features") {
  const StateSpace space = space_of(KernelKind::polynomial, 2, 22);
  limit_openblas_to_one_thread();
  KernelRidgeOptions inducing;
  inducing.kernel = space.kernel;
  inducing.solver = RidgeSolver::inducing_points;
  inducing.points = 5;  // of 6 monomials
  KernelRidgeOptions exact = inducing;
  exact.solver = RidgeSolver::primal;
  const Fitted fit = fitted(space, 1, 5);
  const auto by_points = std::make_shared<KernelRidge>(inducing), by_features = std::make_shared<KernelRidge>(exact);
  for (const auto& ridge : {by_points, by_features}) {
    // Five contexts, each with eight actions: all of them are points.
    std::mt19937_64 random(3);
    for (int i = 0; i < 5; ++i) {
      std::vector<double> states, y;
      for (int r = 0; r < 8; ++r) {
        states.insert(states.end(), fit.rows.states.begin() + 3 * i, fit.rows.states.begin() + 3 * i + 2);
        states.push_back(static_cast<double>(random() % (1 << 22)));
        y.push_back(scrm::testing::normal(random));
      }
      ridge->add(states, y);
    }
  }
  REQUIRE(by_points->dimension() == 5 + 3 + 1);
  for (const double beta : {0.0, 0.5}) {
    Played found(space, 40, 1), truth(space, 40, 1);
    best_action_rule(by_points, space, beta)(found.block, found.buffer);
    best_action_rule(by_features, space, beta)(truth.block, truth.buffer);
    for (int row = 0; row < 40; ++row) CHECK(found.action(space, row) == truth.action(space, row));
  }
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
