// labels: fast statistical
#include "study/estimator_errors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "study/designs/labelled_design.hpp"
#include "study/monte_carlo.hpp"
#include "support/rows/labelled_problems.hpp"

using namespace scrm;
using namespace scrm_test;

namespace {

StudyOptions options_of(const StudyDesign& design, std::int64_t rows, std::int64_t logs, int threads) {
  StudyOptions options;
  options.designs = {&design};
  options.rows = {rows};
  options.logs = logs;
  options.threads = threads;
  return options;
}

const EstimatorRecord& find(const std::vector<EstimatorRecord>& records, const std::string& estimator) {
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&](const EstimatorRecord& record) { return record.estimator == estimator; });
  REQUIRE(found != records.end());
  return *found;
}

}  // namespace

TEST_CASE("errors of estimates: those of three values by hand") {
  const EstimateErrors errors = errors_of({1, 2, 6}, 2);
  CHECK(errors.bias.mean == doctest::Approx(1));
  CHECK(errors.variance.mean == doctest::Approx(7));  // (4 + 1 + 9) / 2
  CHECK(errors.bias.error == doctest::Approx(std::sqrt(7.0 / 3)));
  CHECK(errors.squared_error.mean == doctest::Approx(17.0 / 3));
  CHECK(std::isnan(errors_of({1}, 2).bias.error));
}

TEST_CASE("labelled design: the truth is what both policies cost when they act") {
  const StudyDesign design = labelled_design("made up", made_up_classes(600, 4, 0.4));
  CHECK(design.value < design.logged_mean - 0.05);  // the target knows more
  // 40,000 rows of each: off by four standard errors once in 16,000.
  constexpr int kRows = 40'000;
  for (const Actor actor : {Actor::logging, Actor::target}) {
    RandomStream stream(5, 1, actor == Actor::target);
    DrawnRow row;
    double sum = 0, weights = 0;
    for (int i = 0; i < kRows; ++i) {
      design.draw(stream, i, actor, row);
      sum += row.loss;
      weights += actor == Actor::logging ? row.target / row.propensity : 1;
      CHECK_FALSE(row.target / row.propensity > *design.max_weight);
    }
    const double truth = actor == Actor::target ? design.value : design.logged_mean;
    CHECK(std::abs(sum / kRows - truth) < 4 * std::sqrt(0.25 / kRows));
    CHECK(std::abs(weights / kRows - 1) < 4 * std::sqrt(*design.max_weight / kRows));
  }
}

TEST_CASE("labelled design: the policy that is evaluated has the probabilities that rows were drawn with") {
  const StudyDesign design = labelled_design("made up", made_up_classes(200, 3, 0.4));
  DrawnLog log = draw_log(design, {1, 500, 0});
  const auto loader = log.source.make_loader();
  const auto group = log.source.fetch(0, 1);
  Audit audit;
  const Block block = log.source.load(*group, 0, *loader, audit);
  PolicyScratch scratch;
  alignas(kColumnAlignment) double density[kBlockRows];
  log.policy.policy->density(block, scratch, density);
  CHECK(block.features == 3);
  for (int i = 0; i < block.rows; ++i) {
    // Mixed with a tenth of uniform actions, what is likeliest has 1 − 0.1 · 2/3, and nothing less than 0.1/3.
    CHECK(density[i] > 0.1 / 3 - 1e-12);
    CHECK(density[i] < 1 - 0.1 * 2 / 3 + 1e-12);
  }
}

TEST_CASE("estimator study: every estimator is there; unbiased ones are, and a model takes variance out") {
  const StudyDesign design = labelled_design("made up", made_up_classes(600, 4, 0.4));
  const std::vector<EstimatorRecord> records = run_estimator_study(options_of(design, 400, 150, 2));
  std::set<std::string> names;
  for (const EstimatorRecord& record : records) {
    names.insert(record.estimator);
    CHECK(record.truth == design.value);
    CHECK(record.logs == 150);
    CHECK(record.mse == doctest::Approx(record.bias * record.bias + record.variance * 149 / 150));
  }
  for (const char* name : {"ips", "clipped", "snips", "ips-ix", "dm", "dr", "sndr", "switch-dr", "dros", "ls"})
    CHECK(names.count(name) == 1);
  // Two comparisons at four standard errors: a false alarm in 8,000 seeds; the seed is fixed.
  for (const char* name : {"ips", "dr"}) {
    const EstimatorRecord& record = find(records, name);
    CHECK(std::abs(record.bias) < 4 * record.bias_error);
  }
  CHECK(find(records, "dr").variance < 0.8 * find(records, "ips").variance);
  CHECK(find(records, "clipped").bias > 0);  // towards zero
}

TEST_CASE("estimator study: the same bits at any thread count, and other logs with another seed") {
  const StudyDesign design = labelled_design("made up", made_up_classes(100, 3, 0.4));
  const auto study = [&](int threads, std::uint64_t seed) {
    StudyOptions options = options_of(design, 60, 70, threads);
    options.seed = seed;
    std::vector<double> out;
    for (const EstimatorRecord& record : run_estimator_study(options))
      out.insert(out.end(), {record.bias, record.variance, record.mse, record.mse_error});
    return out;
  };
  CHECK(study(1, 0) == study(7, 0));
  CHECK(study(1, 0) != study(1, 1));
}

TEST_CASE("estimator study: designs without contexts or policies have the estimators that apply to them") {
  StudyOptions options;
  options.designs = {&find_study_design("near"), &find_study_design("rare-0.05")};
  options.rows = {100};
  options.logs = 5;
  std::set<std::string> near, rare;
  for (const EstimatorRecord& record : run_estimator_study(options))
    (record.design == "near" ? near : rare).insert(record.estimator);
  CHECK(near.count("ips") == 1);
  CHECK(near.count("dr") == 0);  // its target is a column, of which a model has no expectation
  CHECK(rare.count("ips") == 1);
}

TEST_CASE("labelled design: bits, sparse rows and too few rows are refused by name") {
  LabelledData sparse = as_sparse(made_up_classes(50, 3, 0.4));
  CHECK_THROWS_WITH_AS(labelled_design("here", made_up_data(50, 3, 2)), doctest::Contains("these have bits"), Error);
  CHECK_THROWS_WITH_AS(labelled_design("here", sparse), doctest::Contains("these are sparse"), Error);
  CHECK_THROWS_WITH_AS(labelled_design("here", made_up_classes(19, 3, 0.4)), doctest::Contains("too few"), Error);
  CHECK(labelled_design("here", made_up_classes(20, 3, 0.4)).policy->outputs == 3);
}
