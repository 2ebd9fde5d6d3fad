// labels: fast
#include "sweep/run/logged_batches.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "scrm/experiments/method.hpp"
#include "support/rows/labelled_problems.hpp"

using namespace scrm;
using namespace scrm_test;

namespace {

/// Losses of all rows of a source, in order.
std::vector<double> losses_of(Source& source) {
  std::vector<double> out;
  const auto loader = source.make_loader();
  for (std::int64_t b = 0; b < source.blocks(); ++b) {
    const auto group = source.fetch(b, 1);
    Audit audit;
    const Block block = source.load(*group, b, *loader, audit);
    out.insert(out.end(), block.loss, block.loss + block.rows);
  }
  return out;
}

double mean(std::vector<double>::const_iterator begin, std::vector<double>::const_iterator end) {
  long double sum = 0;
  for (auto it = begin; it != end; ++it) sum += *it;
  return static_cast<double>(sum / (end - begin));
}

/// A problem whose policies cost differently, and three logged batches.
struct Logged {
  explicit Logged(bool centred) {
    RunOptions options;
    options.rollouts = 3;
    problem = labelled_problem(made_up_data(400, 4, 3), 5, options);
    log = std::make_unique<LoggedBatches>(*problem, PastRollouts::naive, centred, PassOptions{});
    for (std::uint64_t batch = 0; batch < 3; ++batch) {
      log->add({some_policy(*problem, batch, 3.0 * static_cast<double>(batch)), batch > 0});
      ends.push_back(log->rows_logged());
    }
    losses = losses_of(log->rows());
  }

  std::shared_ptr<const BanditProblem> problem;
  std::unique_ptr<LoggedBatches> log;
  std::vector<std::ptrdiff_t> ends;
  std::vector<double> losses;
};

}  // namespace

TEST_CASE("levelled batches: every batch has the mean of all rows as they were logged") {
  const Logged raw(false), centred(true);
  REQUIRE(raw.losses.size() == centred.losses.size());
  const double all = mean(raw.losses.begin(), raw.losses.end());
  std::ptrdiff_t begin = 0;
  bool differ = false;
  for (const std::ptrdiff_t end : raw.ends) {
    CHECK(mean(centred.losses.begin() + begin, centred.losses.begin() + end) == doctest::Approx(all).epsilon(1e-12));
    differ = differ || std::abs(mean(raw.losses.begin() + begin, raw.losses.begin() + end) - all) > 0.01;
    begin = end;
  }
  CHECK(differ);  // else the case above would hold by itself
}

TEST_CASE("levelled batches: rows of one batch keep their distances") {
  const Logged raw(false), centred(true);
  std::ptrdiff_t begin = 0;
  for (const std::ptrdiff_t end : raw.ends) {
    const auto first = static_cast<std::size_t>(begin);
    for (auto i = first; i < static_cast<std::size_t>(end); ++i) {
      CHECK(centred.losses[i] - centred.losses[first] ==
            doctest::Approx(raw.losses[i] - raw.losses[first]).epsilon(1e-12).scale(1));
    }
    begin = end;
  }
}

TEST_CASE("a log of the last batch holds that batch alone, and counts all that was logged") {
  RunOptions options;
  options.rollouts = 3;
  const auto problem = labelled_problem(made_up_data(100, 2, 2), 5, options);
  LoggedBatches log(*problem, PastRollouts::last, false, PassOptions{});
  for (int batch = 0; batch < 2; ++batch) log.add({problem->first_policy(true), false});
  CHECK(log.rows().rows() == problem->shape().batch_rows(1));
  CHECK(log.rows_logged() == problem->shape().batch_rows(0) + problem->shape().batch_rows(1));
}

TEST_CASE("a log under the balance heuristic has the same rows whether they fit into memory or not") {
  RunOptions options;
  options.rollouts = 3;
  options.batches.first = 2000;
  const auto problem = make_problem_factory("categorical", "").make(4, options);
  const auto logged_with = [&](std::size_t memory) {
    PassOptions pass;
    pass.memory = memory;
    LoggedBatches log(*problem, PastRollouts::balance, false, pass);
    for (std::uint64_t batch = 0; batch < 3; ++batch) log.add({some_policy(*problem, batch), batch > 0});
    CHECK(log.rows().rows() == 14000);
    std::vector<double> out;
    const auto loader = log.rows().make_loader();
    for (std::int64_t b = 0; b < log.rows().blocks(); ++b) {
      const auto group = log.rows().fetch(b, 1);
      Audit audit;
      const Block block = log.rows().load(*group, b, *loader, audit);
      const double* propensity = block.propensity != nullptr ? block.propensity : block.log_propensity;
      for (int i = 0; i < block.rows; ++i) out.insert(out.end(), {block.loss[i], propensity[i]});
    }
    return out;
  };
  const std::vector<double> held = logged_with(0);
  REQUIRE(held.size() == 28000);
  // Nothing fits; all rows do, but not twice.
  CHECK(logged_with(1) == held);
  CHECK(logged_with(block_buffer_bytes(problem->schema()) / kBlockRows * 20000) == held);
}

TEST_CASE("scrm: what was learned logs with logging_epsilon, and is judged with epsilon") {
  RunOptions options;
  options.rollouts = 2;
  options.estimator = &kDmEstimator;
  options.epsilon = 0.1;
  options.logging_epsilon = 0.5;
  const auto problem = labelled_problem(made_up_data(200, 4, 3), 5, options);
  const std::vector<HyperParameters> runs = {{{LambdaKind::given, 0}, 0}};
  const auto learner = find_method("scrm").make({*problem, options, runs, 5, {}, {}});
  LoggedBatches log(*problem, PastRollouts::last, false, {});
  log.add({problem->first_policy(true), false});
  learner->learn(log.rows(), 0);
  CHECK(learner->policy(0).epsilon == 0.1);
  log.add(learner->next_logging_policy());
  const auto loader = log.rows().make_loader();
  const auto group = log.rows().fetch(0, 1);
  Audit audit;
  const Block block = log.rows().load(*group, 0, *loader, audit);
  double least = 1;
  for (int k = 0; k < 3; ++k) {
    const double* column = block.label_propensity + static_cast<std::ptrdiff_t>(k) * kBlockRows;
    least = std::min(least, *std::min_element(column, column + block.rows));
  }
  // Half of all bits are drawn evenly: none is rarer than a quarter, and those of a policy that is sure are that.
  CHECK(least >= 0.25);
  CHECK(least < 0.3);
}
