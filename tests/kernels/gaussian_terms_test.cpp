// labels: fast isa
#include "scrm/kernels/weights/gaussian_terms.hpp"
#include "scrm/kernels/scores/context_matrix.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "scrm/kernels/scores/score_gradients.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/weights/weights.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"
#include "support/rows/gaussian_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

struct Result {
  LearningTerms terms;
  std::vector<double> first, second;
};

Result fused(const GaussianRows& rows, const std::uint8_t* keep, const LinearGaussian& policy,
             const TermOptions& rules) {
  const auto size = static_cast<std::size_t>(1 + rows.block.features);
  Result out{{}, std::vector<double>(size, -7.0), std::vector<double>(size, -7.0)};
  out.terms = gaussian_terms(rows.block, keep, policy, rules, out.first.data(), out.second.data());
  return out;
}

Result in_steps(const GaussianRows& rows, const std::uint8_t* keep, const LinearGaussian& policy,
                const TermOptions& rules) {
  Columns<double> coefficients(2), weights, slope, spread;
  block_scores(rows.block, FeatureMap::linear, policy.theta, coefficients.data());
  gaussian_gradient(rows.block.action, policy.scale, coefficients.data(), weights.data());
  weights_from_log_density(rows.block, weights.data(), weights.data());
  Result out;
  out.terms = learning_terms(rows.block, keep, rules, weights.data(), slope.data(), spread.data());
  gradient_coefficients(slope.data(), spread.data(), coefficients.data(), 1, coefficients.data(),
                        coefficients.data() + kBlockRows);
  const auto d = static_cast<std::size_t>(rows.block.features);
  std::vector<double> products(2 * d);
  context_products(context_matrix(rows.block), coefficients.data(), 2, products.data(), rows.block.features);
  for (const int c : {0, 1}) {
    double sum = 0;
    for (int i = 0; i < kBlockRows; ++i) sum += coefficients[c * kBlockRows + i];
    std::vector<double>& gradient = c == 0 ? out.first : out.second;
    gradient = {sum};
    for (std::size_t j = 0; j < d; ++j) gradient.push_back(products[static_cast<std::size_t>(c) * d + j]);
  }
  return out;
}

double largest(const std::vector<double>& values) {
  double out = 1e-300;
  for (const double value : values) out = std::max(out, std::abs(value));
  return out;
}

/// To 1e-11: sums of two thousand terms in another order, of which a part cancels.
void check_same(const Result& actual, const Result& expected) {
  constexpr double kTolerance = 1e-11;
  CHECK(actual.terms.risk.count == expected.terms.risk.count);
  CHECK(actual.terms.weight.count == expected.terms.weight.count);
  CHECK(relative_error(actual.terms.risk.mean, expected.terms.risk.mean) < kTolerance);
  CHECK(relative_error(actual.terms.variance.square_sum, expected.terms.variance.square_sum) < kTolerance);
  CHECK(relative_error(actual.terms.weight.mean, expected.terms.weight.mean) < kTolerance);
  CHECK(relative_error(actual.terms.weight.square_sum, expected.terms.weight.square_sum) < kTolerance);
  for (std::size_t j = 0; j < expected.first.size(); ++j) {
    CAPTURE(j);
    CHECK(relative_error(actual.first[j], expected.first[j], largest(expected.first)) < kTolerance);
    CHECK(relative_error(actual.second[j], expected.second[j], largest(expected.second)) < kTolerance);
  }
}

TermOptions rules_with(WeightTransform transform, double parameter, double control) {
  TermOptions rules;
  rules.transform = transform;
  rules.parameter = parameter;
  rules.control_variate = control;
  return rules;
}

const TermOptions kRules[] = {rules_with(WeightTransform::none, 0, 0), rules_with(WeightTransform::clip, 1.5, 0),
                              rules_with(WeightTransform::ix, 0.05, 1)};

}  // namespace

TEST_CASE("gaussian_terms: what scores, weights, terms and products give one after the other") {
  every_isa([] {
    for (const std::int64_t features : {1, 4, 5, 10, 32}) {
      for (const int count : {1, 7, 129, kBlockRows - 1, kBlockRows}) {
        for (const int form : {0, 1, 2, 3}) {
          const GaussianRows rows(features, {.rows = count, .float32 = form % 2 == 1, .logarithm = form / 2 == 1});
          const std::vector<double> theta = random_theta(features, 3, 0.5);
          const LinearGaussian policy{theta.data(), 0.8};
          for (const TermOptions& rules : kRules) {
            CAPTURE(features);
            CAPTURE(count);
            CAPTURE(form);
            CAPTURE(static_cast<int>(rules.transform));
            check_same(fused(rows, nullptr, policy, rules), in_steps(rows, nullptr, policy, rules));
            check_same(fused(rows, rows.keep.data(), policy, rules), in_steps(rows, rows.keep.data(), policy, rules));
          }
        }
      }
    }
  });
}

TEST_CASE("gaussian_terms: losses far from zero keep the digits of their spread") {
  every_isa([] {
    const GaussianRows rows(10, {.level = 1e6});
    const std::vector<double> theta = random_theta(10, 3, 0.5);
    const LinearGaussian policy{theta.data(), 0.8};
    for (const TermOptions& rules : kRules) {
      check_same(fused(rows, nullptr, policy, rules), in_steps(rows, nullptr, policy, rules));
    }
  });
}

TEST_CASE("gaussian_terms: rows that do not count may hold anything, and none may count") {
  every_isa([] {
    GaussianRows rows(3);
    const std::vector<double> theta = random_theta(3, 3, 0.5);
    const LinearGaussian policy{theta.data(), 0.8};
    const Result before = fused(rows, rows.keep.data(), policy, kRules[2]);
    for (int i = 0; i < kBlockRows; ++i) {
      if (rows.keep[i] == 0) {
        rows.propensity[i] = 0;
        rows.loss[i] = std::numeric_limits<double>::quiet_NaN();
      }
    }
    const Result after = fused(rows, rows.keep.data(), policy, kRules[2]);
    CHECK(before.first == after.first);
    CHECK(before.second == after.second);
    CHECK(before.terms.risk.mean == after.terms.risk.mean);
    const Columns<std::uint8_t> none(1, 0);
    const Result nothing = fused(rows, none.data(), policy, kRules[2]);
    CHECK(nothing.terms.risk.count == 0);
    CHECK(nothing.first == std::vector<double>(4, 0.0));
    CHECK(nothing.second == std::vector<double>(4, 0.0));
  });
}
