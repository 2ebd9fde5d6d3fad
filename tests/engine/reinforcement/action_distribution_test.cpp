// labels: fast
// Log-probabilities, entropies, divergences and Fisher matrices of actors against sums over all actions and finite
// differences. A step h of 1e-6 leaves first differences an error of about 1e-9, one of 1e-4 second differences 1e-7.
#include "reinforcement/actions/action_distribution.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/rows/random_rows.hpp"

using namespace scrm;

namespace {

struct Case {
  std::string name;
  std::unique_ptr<ActionDistribution> distribution;
  int categories = 0;  ///< of softmax
};

std::vector<Case> cases() {
  std::vector<Case> out;
  out.push_back({"gaussian", make_gaussian_actions()});
  for (const double epsilon : {0.0, 0.1}) {
    const std::string with = " with epsilon " + std::to_string(epsilon);
    out.push_back({"bits" + with, make_bit_actions(3, epsilon)});
    out.push_back({"softmax" + with, make_softmax_actions(4, epsilon), 4});
  }
  return out;
}

/// Rows enough for two tiles, with the scores and actions of somebody.
struct Rows {
  Rows(const Case& of, std::uint64_t seed, std::int64_t count = 131) : rows(count) {
    std::mt19937_64 random(seed);
    const ActionDistribution& d = *of.distribution;
    for (std::int64_t i = 0; i < rows * d.outputs(); ++i) scores.push_back(2 * scrm::testing::normal(random));
    for (std::int64_t i = 0; i < rows * d.action_width(); ++i) {
      const double z = scrm::testing::normal(random);
      actions.push_back(d.has_scale() ? z : of.categories > 0 ? static_cast<double>(random() % 4) : z > 0 ? 1 : 0);
    }
    for (std::int64_t i = 0; i < rows; ++i) weights.push_back(scrm::testing::normal(random));
    log_scale = d.has_scale() ? -0.4 : 0;
  }

  ScoreColumns at() const { return {scores.data(), rows, log_scale}; }

  std::int64_t rows;
  std::vector<double> scores, actions, weights;
  double log_scale;
};

/// (f(+h) − f(−h)) / 2h as the number is moved.
double slope(double& number, const std::function<double()>& f, double h = 1e-6) {
  const double before = number;
  number = before + h;
  const double above = f();
  number = before - h;
  const double below = f();
  number = before;
  return (above - below) / (2 * h);
}

double weighted_log(const ActionDistribution& d, const Rows& rows) {
  std::vector<double> log_probability(static_cast<std::size_t>(rows.rows));
  d.log_probability(rows.at(), rows.actions.data(), log_probability.data());
  double sum = 0;
  for (std::size_t i = 0; i < log_probability.size(); ++i) sum += rows.weights[i] * log_probability[i];
  return sum;
}

/// Every action that there is, for one row: bits and categories.
std::vector<std::vector<double>> all_actions(const Case& of) {
  std::vector<std::vector<double>> out;
  if (of.categories > 0) {
    for (int k = 0; k < of.categories; ++k) out.push_back({static_cast<double>(k)});
    return out;
  }
  const int labels = of.distribution->outputs();
  for (int bits = 0; bits < 1 << labels; ++bits) {
    out.emplace_back();
    for (int k = 0; k < labels; ++k) out.back().push_back(bits >> k & 1);
  }
  return out;
}

double log_probability_of(const ActionDistribution& d, const Rows& row, const std::vector<double>& action) {
  double out = 0;
  d.log_probability(row.at(), action.data(), &out);
  return out;
}

}  // namespace

TEST_CASE("action distributions: gradients of log-probabilities agree with finite differences") {
  for (const Case& of : cases()) {
    CAPTURE(of.name);
    const ActionDistribution& d = *of.distribution;
    Rows rows(of, 1);
    std::vector<double> gradient(rows.scores.size(), 0.0);
    ScoreGradient out{gradient.data()};
    d.add_log_gradient(rows.at(), rows.actions.data(), rows.weights.data(), out);
    for (std::size_t j = 0; j < rows.scores.size(); j += 7) {
      CHECK(gradient[j] == doctest::Approx(slope(rows.scores[j], [&] { return weighted_log(d, rows); })).epsilon(1e-6));
    }
    if (!d.has_scale()) continue;
    CHECK(out.log_scale == doctest::Approx(slope(rows.log_scale, [&] { return weighted_log(d, rows); })).epsilon(1e-6));
  }
}

TEST_CASE("action distributions: gradients of entropies agree with finite differences") {
  for (const Case& of : cases()) {
    CAPTURE(of.name);
    const ActionDistribution& d = *of.distribution;
    Rows rows(of, 2);
    std::vector<double> gradient(rows.scores.size(), 0.0);
    ScoreGradient out{gradient.data()};
    d.add_entropy_gradient(rows.at(), 3, out);
    const auto entropy = [&] { return 3 * d.entropy(rows.at()); };
    for (std::size_t j = 0; j < rows.scores.size(); j += 7) {
      CHECK(gradient[j] == doctest::Approx(slope(rows.scores[j], entropy)).epsilon(1e-6));
    }
    if (d.has_scale()) CHECK(out.log_scale == doctest::Approx(slope(rows.log_scale, entropy)).epsilon(1e-6));
  }
}

TEST_CASE("action distributions: probabilities, entropies and divergences are sums over all actions") {
  for (const Case& of : cases()) {
    if (of.distribution->has_scale()) continue;
    CAPTURE(of.name);
    const ActionDistribution& d = *of.distribution;
    const Rows before(of, 3, 1), now(of, 4, 1);
    double sum = 0, entropy = 0, divergence = 0;
    for (const std::vector<double>& action : all_actions(of)) {
      const double log_old = log_probability_of(d, before, action), log_new = log_probability_of(d, now, action);
      sum += std::exp(log_old);
      entropy -= std::exp(log_old) * log_old;
      divergence += std::exp(log_old) * (log_old - log_new);
    }
    CHECK(sum == doctest::Approx(1).epsilon(1e-13));
    CHECK(d.entropy(before.at()) == doctest::Approx(entropy).epsilon(1e-12));
    CHECK(d.divergence(before.at(), now.at()) == doctest::Approx(divergence).epsilon(1e-12));
  }
}

TEST_CASE("gaussian actions: density, entropy and divergence are integrals over all actions") {
  const auto d = make_gaussian_actions();
  const double old_mean = 0.3, new_mean = -0.5;
  const ScoreColumns before{&old_mean, 1, std::log(0.8)}, now{&new_mean, 1, std::log(1.1)};
  double sum = 0, entropy = 0, divergence = 0;
  const double step = 1e-3;  // trapezoids over a smooth function that vanishes at both ends are exact to rounding
  for (double a = -12; a < 12; a += step) {
    double log_old = 0, log_new = 0;
    d->log_probability(before, &a, &log_old);
    d->log_probability(now, &a, &log_new);
    sum += step * std::exp(log_old);
    entropy -= step * std::exp(log_old) * log_old;
    divergence += step * std::exp(log_old) * (log_old - log_new);
  }
  CHECK(sum == doctest::Approx(1).epsilon(1e-10));
  CHECK(d->entropy(before) == doctest::Approx(entropy).epsilon(1e-10));
  CHECK(d->divergence(before, now) == doctest::Approx(divergence).epsilon(1e-10));
}

TEST_CASE("action distributions: the fisher matrix is the curvature of the divergence") {
  for (const Case& of : cases()) {
    CAPTURE(of.name);
    const ActionDistribution& d = *of.distribution;
    const Rows rows(of, 5, 3);
    Rows direction(of, 6, 3);
    std::vector<double> product = direction.scores;
    d.fisher_product(rows.at(), product.data());
    double curvature = 0;
    for (std::size_t j = 0; j < product.size(); ++j) curvature += product[j] * direction.scores[j];
    const double h = 1e-3;
    const auto moved = [&](double step) {
      Rows there = rows;
      for (std::size_t j = 0; j < there.scores.size(); ++j) there.scores[j] += step * direction.scores[j];
      return d.divergence(rows.at(), there.at());
    };
    CHECK(curvature == doctest::Approx((moved(h) + moved(-h)) / (h * h)).epsilon(1e-4));
    if (!d.has_scale()) continue;
    Rows above = rows, below = rows;
    above.log_scale += h;
    below.log_scale -= h;
    const double second = (d.divergence(rows.at(), above.at()) + d.divergence(rows.at(), below.at())) / (h * h);
    CHECK(kLogScaleInformation * 3 == doctest::Approx(second).epsilon(1e-4));
  }
}

TEST_CASE("action distributions: scores that decide everything leave no infinity behind") {
  for (const Case& of : cases()) {
    if (of.distribution->has_scale()) continue;
    CAPTURE(of.name);
    const ActionDistribution& d = *of.distribution;
    Rows rows(of, 7, 2);
    for (std::size_t j = 0; j < rows.scores.size(); ++j) rows.scores[j] = j % 2 == 0 ? 800 : -800;
    std::vector<double> gradient(rows.scores.size(), 0.0), direction(rows.scores.size(), 1.0);
    ScoreGradient out{gradient.data()};
    d.add_log_gradient(rows.at(), rows.actions.data(), rows.weights.data(), out);
    d.add_entropy_gradient(rows.at(), 1, out);
    d.fisher_product(rows.at(), direction.data());
    for (const double g : gradient) CHECK(std::isfinite(g));
    for (const double f : direction) CHECK(f == doctest::Approx(0));
    CHECK(std::isfinite(weighted_log(d, rows)));
    CHECK(std::isfinite(d.entropy(rows.at())));
    CHECK(d.divergence(rows.at(), rows.at()) == 0);
  }
}
