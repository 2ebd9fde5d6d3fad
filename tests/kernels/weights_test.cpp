// labels: fast isa
#include "scrm/kernels/weights/weights.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "scrm/kernels/vector/elementary.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct LoggedColumns {
  Columns<double> log_density, propensity;
  Block block;

  explicit LoggedColumns(bool logarithm) {
    block.rows = kBlockRows;
    (logarithm ? block.log_propensity : block.propensity) = propensity.data();
  }
};

}  // namespace

TEST_CASE("weights_from_log_density: equals exp(log π − log p) over the whole range of doubles, in place too") {
  every_isa([] {
    for (const bool logarithm : {false, true}) {
      for (const double extreme : {10.0, 690.0}) {
        std::mt19937_64 random(31);
        LoggedColumns logged(logarithm);
        for (int i = 0; i < kBlockRows; ++i) {
          // log w stays inside ±690 while both parts go as far as the form lets them.
          const double log_weight = uniform(random, -extreme, extreme);
          const double log_propensity = uniform(random, -extreme / 2, extreme / 2);
          logged.propensity[i] = logarithm ? 3 * log_propensity : std::exp(log_propensity);
          logged.log_density[i] = (logarithm ? 3 : 1) * log_propensity + log_weight;
        }
        Columns<double> out;
        weights_from_log_density(logged.block, logged.log_density.data(), out.data());
        Worst worst;
        for (int i = 0; i < kBlockRows; ++i) {
          const long double p = logged.propensity[i];
          const long double log_p = logarithm ? p : std::log(p);
          worst.add(i, relative_error(out[i], std::exp(logged.log_density[i] - log_p)));
        }
        CAPTURE(logarithm);
        CAPTURE(extreme);
        CAPTURE(worst.place);
        // A difference of logs near 1,000 rounds by 1e-13: that is the relative error of the weight.
        CHECK(worst.error <= (extreme > 100 ? 4e-13 : 4e-15));
        weights_from_log_density(logged.block, logged.log_density.data(), logged.log_density.data());
        int different = 0;
        for (int i = 0; i < kBlockRows; ++i) different += logged.log_density[i] != out[i];
        CHECK(different == 0);
      }
    }
  });
}

TEST_CASE("weights_from_log_density: densities of zero give weights of zero, and overflow gives infinity") {
  every_isa([] {
    for (const bool logarithm : {false, true}) {
      LoggedColumns logged(logarithm);
      for (int i = 0; i < kBlockRows; ++i) logged.propensity[i] = logarithm ? -1.0 : 0.25;
      logged.log_density[1] = -kInfinity;
      logged.log_density[2] = -1e300;
      logged.log_density[3] = 800;
      logged.log_density[9] = -760;
      weights_from_log_density(logged.block, logged.log_density.data(), logged.log_density.data());
      CHECK(logged.log_density[0] == doctest::Approx(logarithm ? std::exp(1.0) : 4.0));
      CHECK(logged.log_density[1] == 0.0);
      CHECK(logged.log_density[2] == 0.0);
      CHECK(logged.log_density[3] == kInfinity);
      CHECK(logged.log_density[9] == 0.0);
    }
  });
}

TEST_CASE("weights_from_log_density: a policy that logged its own exponentials gets weights of exactly one") {
  every_isa([] {
    for (const double extreme : {1.0, 50.0, 700.0}) {
      std::mt19937_64 random(32);
      LoggedColumns logged(false);
      for (int i = 0; i < kBlockRows; ++i) logged.log_density[i] = uniform(random, -extreme, extreme);
      exp_array(logged.log_density.data(), logged.propensity.data(), kBlockRows);
      Columns<double> out;
      weights_from_log_density(logged.block, logged.log_density.data(), out.data());
      int different = 0;
      for (int i = 0; i < kBlockRows; ++i) different += out[i] != 1.0;
      CHECK(different == 0);
    }
  });
}

TEST_CASE("weights_from_log_density: a row's bits do not depend on its neighbours") {
  std::mt19937_64 random(33);
  LoggedColumns calm(false), mixed(false);
  for (int i = 0; i < kBlockRows; ++i) {
    calm.log_density[i] = uniform(random, -3, 3);
    calm.propensity[i] = uniform(random, 0.1, 2);
    mixed.log_density[i] = i % 5 == 0 ? -kInfinity : calm.log_density[i];
    mixed.propensity[i] = calm.propensity[i];
  }
  every_isa([&] {
    Columns<double> a, b;
    weights_from_log_density(calm.block, calm.log_density.data(), a.data());
    weights_from_log_density(mixed.block, mixed.log_density.data(), b.data());
    int different = 0;
    for (int i = 0; i < kBlockRows; ++i) different += i % 5 != 0 && a[i] != b[i];
    CHECK(different == 0);
  });
}

TEST_CASE("weights_from_density: plain ratios, exactly one when both columns are the same, with either propensity") {
  every_isa([] {
    for (const bool logarithm : {false, true}) {
      std::mt19937_64 random(34);
      LoggedColumns logged(logarithm);
      Columns<double> density, out;
      for (int i = 0; i < kBlockRows; ++i) {
        density[i] = i % 10 == 0 ? 0.0 : std::exp(uniform(random, -300, 300));
        logged.propensity[i] = logarithm ? uniform(random, -300, 300) : std::exp(uniform(random, -300, 300));
      }
      weights_from_density(logged.block, density.data(), out.data());
      Worst worst;
      for (int i = 0; i < kBlockRows; ++i) {
        const long double p = logarithm ? std::exp(static_cast<long double>(logged.propensity[i]))
                                        : static_cast<long double>(logged.propensity[i]);
        worst.add(i, relative_error(out[i], density[i] / p));
      }
      CAPTURE(logarithm);
      CHECK(worst.error <= (logarithm ? 2e-13 : 2e-16));
      if (logarithm) continue;
      weights_from_density(logged.block, logged.propensity.data(), out.data());
      int different = 0;
      for (int i = 0; i < kBlockRows; ++i) different += out[i] != 1.0;
      CHECK(different == 0);
    }
  });
}

TEST_CASE("label_weight_excess: the sum over labels of w_k - 1, zero when target and logging agree and alpha is zero") {
  every_isa([] {
    for (const int labels : {1, 22, 64}) {
      for (const double alpha : {0.0, 1e-3, 0.5}) {
        std::mt19937_64 random(35);
        Columns<double> target(labels), logged(labels), out;
        for (int k = 0; k < labels; ++k) {
          for (int i = 0; i < kBlockRows; ++i) {
            target.at(i, k) = uniform(random, 0, 1);
            logged.at(i, k) = uniform(random, 1e-3, 1);
          }
        }
        Block block;
        block.rows = kBlockRows;
        block.num_actions = labels;
        block.label_propensity = logged.data();
        label_weight_excess(block, target.data(), alpha, out.data());
        Worst worst;
        for (int i = 0; i < kBlockRows; ++i) {
          long double expected = 0, scale = 0;
          for (int k = 0; k < labels; ++k) {
            const long double pi = target.at(i, k);
            const long double w = pi / (logged.at(i, k) + alpha * pi);
            expected += w - 1;
            scale += w + 1;
          }
          worst.add(i, relative_error(out[i], expected, scale));
        }
        CAPTURE(labels);
        CAPTURE(alpha);
        CHECK(worst.error <= 2e-15);
        if (alpha > 0) continue;
        label_weight_excess(block, logged.data(), 0.0, out.data());
        int different = 0;
        for (int i = 0; i < kBlockRows; ++i) different += out[i] != 0.0;
        CHECK(different == 0);
      }
    }
  });
}
