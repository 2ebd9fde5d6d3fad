// labels: fast statistical
#include "reproduce/estimator_study.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <set>

using namespace scrm;

TEST_CASE("estimator study: bias and variance of ips are those of the closed form") {
  // w = exp(μa − μ²/2) and E[w² cos² a] = e^{μ²} (1 + e^{−2} cos 4μ)/2. Four standard errors, six comparisons: a false
  // alarm in about 3,000 seeds; the seed is fixed.
  constexpr double kRows = 1000;
  const EstimatorStudy study = study_estimators(400, static_cast<std::int64_t>(kRows), 2, {});
  int compared = 0;
  for (const StudiedEstimate& one : study.estimates) {
    if (one.estimator != "ips" || one.target > 1) continue;
    const double mu = one.target * std::numbers::pi / 4;
    const double truth = std::exp(-0.5) * std::cos(mu);
    const double variance = (std::exp(mu * mu) * (1 + std::exp(-2.0) * std::cos(4 * mu)) / 2 - truth * truth) / kRows;
    CHECK(one.truth == doctest::Approx(truth));
    CHECK(std::abs(one.bias.mean) < 4 * one.bias.error);
    CHECK(std::abs(one.variance.mean - variance) < 4 * one.variance.error);
    CHECK(std::abs(one.squared_error.mean - variance) < 4 * one.squared_error.error);
    CHECK(one.bias.error == doctest::Approx(std::sqrt(one.variance.mean / 400)));
    ++compared;
  }
  CHECK(compared == 2);
  CHECK(study.mean_weight[0].mean == doctest::Approx(1));
  CHECK(std::abs(study.mean_weight[1].mean - 1) < 4 * study.mean_weight[1].error);
}

TEST_CASE("estimator study: has every default estimator on every target, and the same bits on any number of threads") {
  const EstimatorStudy one = study_estimators(3, 5000, 1, {});
  const EstimatorStudy other = study_estimators(3, 5000, 3, {});
  std::set<std::string> names;
  REQUIRE(one.estimates.size() == other.estimates.size());
  for (std::size_t i = 0; i < one.estimates.size(); ++i) {
    names.insert(one.estimates[i].estimator);
    CHECK(one.estimates[i].bias.mean == other.estimates[i].bias.mean);
    CHECK(one.estimates[i].variance.mean == other.estimates[i].variance.mean);
  }
  for (const char* name : {"ips", "clipped", "snips", "ips-ix", "dm", "dr", "sndr", "switch-dr", "dros"})
    CHECK(names.count(name) == 1);
  CHECK(one.estimates.size() == names.size() * kStudyTargets);
}
