// labels: fast
#include "scrm/engine/regression/softmax_regression.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "scrm/engine/regression/logistic_regression.hpp"
#include "scrm/io/file/error.hpp"

using namespace scrm;

namespace {

/// Classes by two features with noise; classes beyond `seen` never occur.
LabelledData classes_of(std::int64_t rows, int seen, int classes) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  LabelledData data;
  data.multiclass = true;
  data.rows = rows;
  data.features = 2;
  data.labels = classes;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double x = normal(random), y = normal(random);
    data.context.insert(data.context.end(), {x, y});
    const double angle = std::atan2(y + 0.4 * normal(random), x) / 6.2832 + 0.5;
    data.category.push_back(std::min(seen - 1, static_cast<int>(angle * seen)));
  }
  return data;
}

std::vector<std::int64_t> all_rows(const LabelledData& data) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(data.rows));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::vector<double> probabilities(const std::vector<double>& theta, double x, double y) {
  std::vector<double> out;
  double sum = 0;
  for (std::size_t k = 0; k < theta.size() / 3; ++k) {
    out.push_back(std::exp(theta[3 * k] + theta[3 * k + 1] * x + theta[3 * k + 2] * y));
    sum += out.back();
  }
  for (double& p : out) p /= sum;
  return out;
}

}  // namespace

TEST_CASE("softmax regression: two classes are a logistic regression with half the ridge") {
  const LabelledData data = classes_of(300, 2, 2);
  LabelledData bits = data;
  bits.multiclass = false;
  bits.labels = 1;
  bits.category.clear();
  for (const std::int32_t category : data.category) bits.label.push_back(static_cast<std::uint8_t>(category));
  // Coefficients ±β/2 of two classes have half the squared length of one β.
  const SoftmaxModel two = fit_softmax(data, all_rows(data), {.c = 1.0, .max_iterations = 1000, .tolerance = 1e-9});
  const LogisticModel one = fit_logistic(bits, all_rows(bits), {.c = 2.0, .tolerance = 1e-10}).front();
  for (std::size_t j = 0; j < 3; ++j)
    CHECK(two.theta[3 + j] - two.theta[j] == doctest::Approx(one.beta[j]).epsilon(1e-5));
}

TEST_CASE("softmax regression: where the search ends, every class is expected as often as it occurs") {
  const LabelledData data = classes_of(500, 4, 4);
  const SoftmaxModel model = fit_softmax(data, all_rows(data), {.max_iterations = 1000, .tolerance = 1e-9});
  // Intercepts carry no ridge: their gradient is the difference of both counts.
  std::vector<double> expected(4, 0.0), found(4, 0.0);
  for (std::size_t i = 0; i < 500; ++i) {
    const auto p = probabilities(model.theta, data.context[2 * i], data.context[2 * i + 1]);
    for (std::size_t k = 0; k < 4; ++k) expected[k] += p[k];
    found[static_cast<std::size_t>(data.category[i])] += 1;
  }
  for (std::size_t k = 0; k < 4; ++k) CHECK(expected[k] == doctest::Approx(found[k]).epsilon(1e-6));
}

TEST_CASE("softmax regression: classes that do not occur share a twentieth, and one class alone has the rest") {
  const LabelledData three = classes_of(200, 3, 5);
  const std::vector<double> theta = fit_softmax(three, all_rows(three), {}).theta;
  REQUIRE(theta.size() == 15);
  for (const std::size_t k : {std::size_t{3}, std::size_t{4}}) {
    CHECK(std::exp(theta[3 * k]) == doctest::Approx(3 * 0.05 / 0.95 / 2));
    CHECK(theta[3 * k + 1] == 0);
  }
  const LabelledData one = classes_of(20, 1, 4);
  CHECK(probabilities(fit_softmax(one, all_rows(one), {}).theta, 7, -3)[0] == doctest::Approx(0.95));
  const LabelledData only = classes_of(20, 1, 1);
  CHECK(fit_softmax_held_out(only, all_rows(only), std::vector{1.0}, {}).theta == std::vector<double>(3, 0.0));
  CHECK_THROWS_WITH_AS(fit_softmax(one, {}, {}), doctest::Contains("no rows to fit a softmax regression on"), Error);
  CHECK_THROWS_WITH_AS(fit_softmax(one, all_rows(one), {.c = 0}),
                       doctest::Contains("c is 0: the inverse of a ridge's strength must be above zero"), Error);
}

TEST_CASE("softmax regression: the ridge is chosen on rows held out, and rows may be few") {
  const LabelledData data = classes_of(400, 4, 4);
  const std::vector<double> candidates = {10.0, 1e-4, 1.0};
  const SoftmaxModel model = fit_softmax_held_out(data, all_rows(data), candidates, {});
  CHECK(model.c > 1e-4);  // which all but forbids coefficients
  CHECK(fit_softmax(data, all_rows(data), {.c = model.c}).theta == model.theta);
  for (const std::int64_t rows : {1, 2, 3, 5}) {
    const LabelledData few = classes_of(rows, 4, 4);
    CHECK(fit_softmax_held_out(few, all_rows(few), candidates, {}).theta.size() == 12);
  }
}
