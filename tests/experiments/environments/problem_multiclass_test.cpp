// labels: fast statistical
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "environments/problem/labelled_transforms.hpp"
#include "environments/problem/supervised_policies.hpp"
#include "support/rows/labelled_problems.hpp"

using namespace scrm;
using namespace scrm_test;

namespace {

/// The class of a logged row, whose first feature tells which one it is.
int class_of(const LabelledData& data, const Block& block, int i) {
  const double first = static_cast<const double*>(block.context)[i];
  return data.category[static_cast<std::size_t>(std::lround(first / 0.01)) - 1];
}

}  // namespace

TEST_CASE("multiclass problem: a batch logs what the policy draws, and costs one where the class is wrong") {
  const LabelledData data = made_up_classes(400, 5);
  RunOptions options = few_rollouts(2);
  options.replays = 1;
  options.standardize = false;
  const auto problem = labelled_problem(data, 3, options);
  CHECK(problem->schema().action_kind == ActionKind::categorical);
  const Policy policy = some_policy(*problem, 4);
  CHECK(policy.kind == PolicyKind::softmax);
  CHECK(policy.epsilon == 0.1);
  const auto batch = problem->batch({policy, true}, 1);
  const auto target = make_target_policy(policy, problem->schema(), "policy");
  const auto loader = batch->make_loader();
  Audit audit;
  std::vector<std::int64_t> drawn(5, 0);
  for (std::int64_t b = 0; b < batch->blocks(); ++b) {
    const auto group = batch->fetch(b, 1);
    const Block block = batch->load(*group, b, *loader, audit);
    PolicyScratch scratch;
    alignas(kColumnAlignment) double density[kBlockRows];
    target->log_density(block, scratch, density);
    for (int i = 0; i < block.rows; ++i) {
      CHECK(block.loss[i] == (block.category[i] == class_of(data, block, i) ? 0.0 : 1.0));
      CHECK(block.log_propensity[i] == doctest::Approx(density[i]));
      ++drawn[static_cast<std::size_t>(block.category[i])];
    }
  }
  for (const std::int64_t count : drawn) CHECK(count > 0);
}

TEST_CASE("multiclass problem: the test loss is that of the classes drawn, with epsilon whatever the policy says") {
  const LabelledData data = made_up_classes(300, 4);
  const auto problem = labelled_problem(data, 1, few_rollouts(2));
  Policy policy = some_policy(*problem, 2);
  const double loss = problem->test_loss(policy);
  policy.epsilon = 0;
  CHECK(problem->test_loss(policy) == loss);
  policy.theta.assign(policy.theta.size(), 0.0);
  CHECK(problem->test_loss(policy) == doctest::Approx(0.75));
  // A rule that always names class 2, and the policy that is as good as certain of it.
  const ActionRule rule = [](const Block& contexts, BlockBuffer& actions) {
    std::fill_n(actions.category(), contexts.rows, 2);
  };
  policy.theta[2 * 4] = 1000;
  const RuleLoss named = problem->test_loss(rule);
  CHECK(problem->test_loss(policy) == doctest::Approx(named.loss));
  CHECK(named.loss == doctest::Approx(0.9 * named.without_epsilon + 0.1 * 0.75));
}

TEST_CASE("multiclass problem: the skyline beats the majority, which beats chance; zero bits are none") {
  const LabelledData data = made_up_classes(600, 4);
  for (const LabelledData& form : {data, as_sparse(data)}) {
    const auto problem = labelled_problem(form, 5, few_rollouts(2));
    const double majority = problem->test_loss(*problem->constant_policy(true));
    CHECK(problem->test_loss(problem->skyline()) < majority - 0.1);
    CHECK(majority < 0.75);
    CHECK_FALSE(problem->constant_policy(false).has_value());
    CHECK(problem->test_loss(problem->baseline_policy()) < 0.75);
    // Where learning starts nothing is known.
    CHECK(problem->test_loss(problem->start()) == doctest::Approx(0.75));
  }
}

TEST_CASE("multiclass problem: one class, three rows, 64 classes and classes never met all have their policies") {
  for (const auto& [rows, classes] : {std::pair<std::int64_t, int>{40, 1}, {3, 2}, {50, 64}}) {
    CAPTURE(classes);
    const auto problem = labelled_problem(made_up_classes(rows, classes), 2, few_rollouts(1));
    for (const Policy& policy : {problem->skyline(), *problem->constant_policy(true), problem->baseline_policy()}) {
      const double loss = problem->test_loss(policy);
      CHECK(loss >= 0);
      CHECK(loss <= 1);
      if (classes == 1) CHECK(loss == 0);
    }
    CHECK(problem->batch({problem->first_policy(true), false}, 0)->rows() > 0);
  }
}

TEST_CASE("standardized: dense features have mean 0 and spread 1, sparse ones spread 1, constants do no harm") {
  LabelledData data = made_up_classes(50, 3);
  for (std::size_t i = 0; i < 50; ++i) data.context[3 * i] = 1e6;
  const LabelledData dense = standardized(data), sparse = standardized(as_sparse(data));
  for (std::size_t j = 0; j < 3; ++j) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < 50; ++i) sum += dense.context[3 * i + j];
    for (std::size_t i = 0; i < 50; ++i) squares += dense.context[3 * i + j] * dense.context[3 * i + j];
    CHECK(sum == doctest::Approx(0).epsilon(1e-9));
    CHECK(squares / 50 == doctest::Approx(j == 0 ? 0 : 1));
  }
  // A sparse entry is its dense one but for the mean.
  const std::size_t e = static_cast<std::size_t>(sparse.indptr[1]);
  CHECK(sparse.indices[e] == 0);
  CHECK(sparse.values[e] == 1e6);
  CHECK(sparse.indices.size() == as_sparse(data).indices.size());
}
