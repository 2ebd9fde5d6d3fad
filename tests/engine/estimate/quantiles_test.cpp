// labels: fast
#include "estimate/intervals/quantiles.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "support/reference/reference.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

using Real = long double;

/// P(N(0,1) > z), in long doubles, whose erfc reaches 1e-4900.
Real normal_tail(Real z) {
  return std::erfc(z / std::numbers::sqrt2_v<Real>) / 2;
}

}  // namespace

TEST_CASE("quantiles: equal tables and integrals at every level and number of degrees") {
  // Printed tables of Student's distribution, two-sided 95 %.
  CHECK(student_upper_quantile(0.025, 1) == doctest::Approx(12.7062047).epsilon(1e-8));
  CHECK(student_upper_quantile(0.025, 2) == doctest::Approx(4.30265273).epsilon(1e-8));
  CHECK(student_upper_quantile(0.025, 10) == doctest::Approx(2.22813885).epsilon(1e-8));
  CHECK(student_upper_quantile(0.025, 120) == doctest::Approx(1.97993041).epsilon(1e-8));
  CHECK(normal_upper_quantile(0.025) == doctest::Approx(1.959963984540054).epsilon(1e-14));
  for (const double level : {0.5, 0.95, 0.999}) {
    const double tail = (1 - level) / 2;
    CAPTURE(level);
    CHECK(relative_error(normal_upper_quantile(tail), reference::normal_quantile(level)) <= 1e-12);
    for (const double degrees : {1.0, 2.0, 29.0, 499.0, 2000.0, 2001.0, 1e6}) {
      CAPTURE(degrees);
      CHECK(relative_error(student_upper_quantile(tail, degrees), reference::student_quantile(level, degrees)) <=
            1e-12);
    }
  }
}

TEST_CASE("quantiles: far in the normal tail they give the tail back, on both sides") {
  for (const double tail : {1e-5, 1e-9, 5e-16, 1e-16, 5.6e-17, 1e-20, 1e-50, 1e-100, 1e-200, 1e-300}) {
    CAPTURE(tail);
    const double z = normal_upper_quantile(tail);
    // A relative error e of z is one of about z² e of the tail: doubles resolve z to 1e-16.
    CHECK(std::abs(normal_tail(z) / static_cast<Real>(tail) - 1) <= static_cast<Real>(z) * z * 1e-15L);
  }
  CHECK(normal_upper_quantile(1e-300) == doctest::Approx(37.0471).epsilon(1e-5));
  CHECK(normal_upper_quantile(0.5) == doctest::Approx(0).epsilon(1e-12));
  CHECK(normal_upper_quantile(0.975) == doctest::Approx(-normal_upper_quantile(0.025)).epsilon(1e-12));
}

TEST_CASE("quantiles: far in Student's tail they have their closed forms and the normal limit") {
  for (const double tail : {1e-7, 1e-12, 5e-16, 5.6e-17, 1e-30, 1e-100, 1e-300}) {
    CAPTURE(tail);
    const Real p = tail;
    // One degree: cot(π tail). Two: (1 − 2 tail) / √(2 tail (1 − tail)).
    CHECK(relative_error(student_upper_quantile(tail, 1), 1 / std::tan(std::numbers::pi_v<Real> * p)) <= 1e-12);
    CHECK(relative_error(student_upper_quantile(tail, 2), (1 - 2 * p) / std::sqrt(2 * p * (1 - p))) <= 1e-12);
    CHECK(relative_error(student_upper_quantile(tail, 1e12), normal_upper_quantile(tail)) <= 1e-8);
  }
}

TEST_CASE("quantiles: a thinner tail and fewer degrees always lie further out") {
  for (const double degrees : {1.0, 3.0, 100.0, 2000.0, 2001.0, 1e4, 1e6, 1e9}) {
    double last = 0;
    for (const double tail : {0.4, 1e-2, 1.1e-6, 0.9e-6, 1e-9, 1e-15, 1e-17, 1e-40, 1e-150, 1e-300}) {
      CAPTURE(degrees);
      CAPTURE(tail);
      const double t = student_upper_quantile(tail, degrees);
      CHECK(t > last);
      CHECK(t >= normal_upper_quantile(tail));
      CHECK(t <= student_upper_quantile(tail, degrees / 2));
      last = t;
    }
  }
}
