// labels: fast isa
#include "scrm/kernels/vector/elementary.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();

/// Distance from the exact value in units of the last place of the double next to it.
double ulps(double actual, long double exact) {
  const double rounded = std::abs(static_cast<double>(exact));
  if (!std::isfinite(rounded)) return static_cast<double>(exact) == actual ? 0 : kInfinity;
  const long double ulp = std::nextafter(rounded, kInfinity) - rounded;
  return static_cast<double>(std::abs(static_cast<long double>(actual) - exact) / ulp);
}

double exp_of(double x) {
  double out = -1;
  exp_array(&x, &out, 1);
  return out;
}

double log_of(double x) {
  double out = -1;
  log_array(&x, &out, 1);
  return out;
}

}  // namespace

// Highway promises results at most one double away from the correctly rounded one: 1.5 ulp from the exact value.
constexpr double kUlps = 1.5;

TEST_CASE("exp_array: within an ulp of the truth, subnormal results included") {
  std::mt19937_64 random(1);
  std::vector<double> in;
  for (int i = 0; i < 20000; ++i) in.push_back(uniform(random, -746.0, 709.7));
  for (int i = 0; i < 2000; ++i) in.push_back(std::ldexp(uniform(random, -1, 1), -(i % 1000)));
  for (const double x :
       {0.0, -0.0, 1.0, -1.0, 699.0, 700.0, 700.5, 709.0, 709.78, -700.0, -708.0, -708.5, -709.0, -740.0, -745.0}) {
    in.push_back(x);
  }
  every_isa([&in] {
    std::vector<double> out(in.size());
    exp_array(in.data(), out.data(), static_cast<int>(in.size()));
    Worst worst;
    for (std::size_t i = 0; i < in.size(); ++i) {
      worst.add(static_cast<std::int64_t>(i), ulps(out[i], std::exp(static_cast<long double>(in[i]))));
    }
    CAPTURE(in[static_cast<std::size_t>(worst.place)]);
    CHECK(worst.error <= kUlps);
  });
}

TEST_CASE("exp_array: exactly one at zero, zero below -746, infinite above 709.8, and the library's own above 700") {
  every_isa([] {
    CHECK(exp_of(0.0) == 1.0);
    for (const double x : {-746.0, -800.0, -999.0, -1e3, -1e10, -1e308, -kInfinity}) {
      CAPTURE(x);
      CHECK(exp_of(x) == 0.0);
    }
    for (const double x : {700.25, 701.0, 705.5, 706.0, 709.0, 709.7}) CHECK(exp_of(x) == std::exp(x));
    for (const double x : {710.0, 1e4, 1e308, kInfinity}) CHECK(exp_of(x) == kInfinity);
  });
}

TEST_CASE("log_array: within an ulp of the truth from the smallest subnormal to the largest double") {
  std::mt19937_64 random(2);
  std::vector<double> in = {kTiny, 3 * kTiny, 1e-310, std::numeric_limits<double>::min(), 1e-300, 0.5,
                            1.0,   2.0,       1e300,  std::numeric_limits<double>::max()};
  for (int i = 0; i < 10000; ++i) in.push_back(std::exp(uniform(random, -700, 700)));
  for (int i = 0; i < 5000; ++i) in.push_back(uniform(random, 0.5, 2.0));
  every_isa([&in] {
    std::vector<double> out(in.size());
    log_array(in.data(), out.data(), static_cast<int>(in.size()));
    Worst worst;
    for (std::size_t i = 0; i < in.size(); ++i) {
      worst.add(static_cast<std::int64_t>(i), ulps(out[i], std::log(static_cast<long double>(in[i]))));
    }
    CAPTURE(in[static_cast<std::size_t>(worst.place)]);
    CHECK(worst.error <= kUlps);
    CHECK(log_of(1.0) == 0.0);
    CHECK(log_of(0.0) == -kInfinity);
  });
}

TEST_CASE("exp_array and log_array: any length, in place, and nothing past the end is touched") {
  std::mt19937_64 random(3);
  std::vector<double> source(2049);
  for (double& x : source) x = uniform(random, 0.1, 20.0);
  every_isa([&source] {
    for (const int n : {0, 1, 3, 7, 8, 9, 2047, 2048}) {
      CAPTURE(n);
      for (const bool logarithm : {false, true}) {
        const auto function = logarithm ? log_array : exp_array;
        std::vector<double> apart(source.size(), -7.0);
        function(source.data(), apart.data(), n);
        std::vector<double> in_place = source;
        function(in_place.data(), in_place.data(), n);
        int wrong = 0;
        for (int i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const long double x = source[at];
          wrong += !(ulps(apart[at], logarithm ? std::log(x) : std::exp(x)) <= kUlps);
          wrong += in_place[at] != apart[at];
        }
        CHECK(wrong == 0);
        CHECK(apart[static_cast<std::size_t>(n)] == -7.0);
        CHECK(in_place[static_cast<std::size_t>(n)] == source[static_cast<std::size_t>(n)]);
      }
    }
  });
}

TEST_CASE("exp_array: a value's bits do not depend on its neighbours") {
  std::mt19937_64 random(4);
  every_isa([&random] {
    int different = 0;
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<double> in(17);
      for (double& x : in) x = trial % 2 == 0 ? uniform(random, -800, 800) : uniform(random, 600, 720);
      std::vector<double> out(in.size());
      exp_array(in.data(), out.data(), static_cast<int>(in.size()));
      for (std::size_t i = 0; i < in.size(); ++i) different += out[i] != exp_of(in[i]);
    }
    CHECK(different == 0);
  });
}

TEST_CASE("cos_array: as good as the scalar library at any size, and no number stays none") {
  std::mt19937_64 random(3);
  std::vector<double> in = {0.0, -0.0, 1.5707963267948966, 3.141592653589793, 29999.9, 30000.0, 30000.1, 39001.0, 1e15};
  for (int i = 0; i < 20000; ++i) in.push_back(uniform(random, -100, 100));
  for (int i = 0; i < 2000; ++i) in.push_back(uniform(random, -40000, 40000));
  every_isa([&in] {
    std::vector<double> out(in.size());
    cos_array(in.data(), out.data(), static_cast<int>(in.size()));
    Worst worst;
    // Near zeros of the cosine what counts is the error of the reduced argument: a few 1e-16 of one.
    for (std::size_t i = 0; i < in.size(); ++i)
      worst.add(static_cast<int>(i), std::abs(out[i] - std::cos(in[i])) / 1e-15);
    CAPTURE(worst.place);
    CHECK(worst.error < 1);
    const double odd[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
    double found[3];
    cos_array(odd, found, 3);
    for (const double value : found) CHECK(std::isnan(value));
  });
}
