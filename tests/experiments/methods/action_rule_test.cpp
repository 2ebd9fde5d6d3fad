// labels: slow
#include "methods/action_rule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "scrm/engine/schedule/libraries.hpp"
#include "support/reference/kernel_reference.hpp"
#include "support/rows/labelled_problems.hpp"

using namespace scrm;
using namespace scrm_test;
using scrm::testing::RidgeRows;
using scrm::testing::textbook;

namespace {

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

TEST_CASE("action rule: continuous actions are the best of the grid by the textbook") {
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

TEST_CASE("action rule: bits are the best of all there are by the textbook") {
  for (const int labels : {1, 2, 5, 8}) {
    CAPTURE(labels);
    for (const KernelKind kind : {KernelKind::linear, KernelKind::polynomial, KernelKind::gaussian}) {
      check_best(space_of(kind, 2, labels), 1, 0);
      check_best(space_of(kind, 2, labels), 10, 0.7);
    }
    check_best(space_of(KernelKind::bits, 2, labels), 1, 0);
  }
}

TEST_CASE("action rule: optimistic bits are the best of the mean's and their neighbours by one label") {
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

TEST_CASE("action rule: 22 labels as one integer are chosen by points as by all features") {
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
