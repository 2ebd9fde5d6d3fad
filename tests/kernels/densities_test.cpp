// labels: fast isa
#include "scrm/kernels/scores/densities.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "support/every_isa.hpp"
#include "support/reference/reference.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A log-density's absolute error is the relative error of the weight made from it. Results near zero are sums of terms
// near one, so errors are taken relative to 1 + |result|: a few roundings.
constexpr double kTolerance = 1e-15;

double log_error(double actual, long double expected) {
  if (static_cast<double>(expected) == actual) return 0;
  return relative_error(actual, expected, 1 + std::abs(expected));
}

/// Scores of rows i: standard normal for most, up to ±`extreme` in every third row.
Columns<double> random_scores(std::mt19937_64& random, int columns, double extreme) {
  Columns<double> scores(columns);
  for (int k = 0; k < columns; ++k) {
    for (int i = 0; i < kBlockRows; ++i) {
      scores.at(i, k) = i % 3 == 0 ? uniform(random, -extreme, extreme) : normal(random);
    }
  }
  return scores;
}

reference::Reals row_of(const Columns<double>& columns, int row, int count) {
  reference::Reals out;
  for (int k = 0; k < count; ++k) out.push_back(columns.at(row, k));
  return out;
}

/// Wide rows are checked in part, since long doubles are slow: 7 meets every lane and every kind of score.
int stride(int columns) {
  return columns > 2 ? 7 : 1;
}

struct BitRows {
  BitRows(std::mt19937_64& random, int labels) : bits(labels) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(labels) * kBlockRows; ++i) {
      bits[i] = static_cast<std::uint8_t>(random() & 1);
    }
  }
  std::vector<bool> row(int i, int labels) const {
    std::vector<bool> out;
    for (int k = 0; k < labels; ++k) out.push_back(bits.at(i, k) != 0);
    return out;
  }
  Columns<std::uint8_t> bits;
};

}  // namespace

TEST_CASE("gaussian_log_density: equals the formula, in place too") {
  every_isa([] {
    for (const double scale : {1e-3, 0.3, 1.0, 50.0}) {
      CAPTURE(scale);
      std::mt19937_64 random(21);
      Columns<double> action, mean, out;
      for (int i = 0; i < kBlockRows; ++i) {
        action[i] = uniform(random, -5, 5);
        mean[i] = i % 2 == 0 ? action[i] + scale * normal(random) : uniform(random, -5, 5);
      }
      gaussian_log_density(action.data(), mean.data(), scale, out.data());
      Worst worst;
      for (int i = 0; i < kBlockRows; ++i) {
        worst.add(i, log_error(out[i], reference::gaussian_log_density(action[i], mean[i], scale)));
      }
      CAPTURE(worst.place);
      CHECK(worst.error <= kTolerance);
      gaussian_log_density(action.data(), mean.data(), scale, mean.data());
      int different = 0;
      for (int i = 0; i < kBlockRows; ++i) different += mean[i] != out[i];
      CHECK(different == 0);
    }
  });
}

TEST_CASE("lognormal_log_density: equals the formula, and is minus infinity where the action is not positive") {
  every_isa([] {
    for (const double scale : {0.05, 0.5, 3.0}) {
      std::mt19937_64 random(22);
      Columns<double> action, mean, out;
      for (int i = 0; i < kBlockRows; ++i) {
        action[i] = std::exp(uniform(random, -4, 4));
        mean[i] = normal(random);
      }
      action[0] = 0.0;
      action[1] = -0.0;
      action[2] = -1.0;
      action[700] = -1e308;
      action[3] = 1e-300;
      action[4] = 1e300;
      action[5] = std::numeric_limits<double>::denorm_min();
      lognormal_log_density(action.data(), mean.data(), scale, out.data());
      Worst worst;
      for (int i = 0; i < kBlockRows; ++i) {
        const long double expected = reference::lognormal_log_density(action[i], mean[i], scale);
        // log a rounds by 2^-53 of itself, which the density magnifies by z/σ.
        const long double log_action = action[i] > 0 ? std::log(static_cast<long double>(action[i])) : 0;
        const long double magnified = (log_action - mean[i]) / scale / scale * log_action;
        worst.add(i, relative_error(out[i], expected, 1 + std::abs(expected) + std::abs(magnified)));
      }
      CAPTURE(scale);
      CAPTURE(worst.place);
      CHECK(worst.error <= kTolerance);
      for (const int i : {0, 1, 2, 700}) CHECK(out[i] == -kInfinity);
    }
  });
}

TEST_CASE("softmax_log_probability: equals the formula for any number of actions, epsilon and scores up to 800") {
  every_isa([] {
    for (const int actions : {1, 2, 3, 7, 32, 33, 64, 200}) {
      for (const double epsilon : {0.0, 0.1, 1e-12, 1.0}) {
        std::mt19937_64 random(23);
        const Columns<double> scores = random_scores(random, actions, 800);
        Columns<std::int32_t> action;
        for (int i = 0; i < kBlockRows; ++i) {
          action[i] = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(actions));
        }
        Columns<double> out;
        softmax_log_probability(action.data(), scores.data(), actions, epsilon, out.data());
        Worst worst;
        for (int i = 0; i < kBlockRows; i += stride(actions)) {
          const reference::Reals row = row_of(scores, i, actions);
          // Differences of scores round in units of the largest score.
          long double scale = 1;
          for (const long double s : row) scale = std::max(scale, std::abs(s));
          const long double expected = reference::softmax_log_probability(row, action[i], epsilon);
          worst.add(i, relative_error(out[i], expected, scale + std::abs(expected)));
        }
        CAPTURE(actions);
        CAPTURE(epsilon);
        CAPTURE(worst.place);
        CHECK(worst.error <= kTolerance);
        if (actions == 1 && epsilon == 0) CHECK(out[0] == 0.0);
      }
    }
  });
}

TEST_CASE("add_softmax_tile: rows that are known to be plain get the bits that others would get") {
  every_isa([] {
    for (const int actions : {1, 2, 29, 30, 31, 100}) {
      std::mt19937_64 random(24);
      Columns<double> scores(actions), found, expected;
      Columns<std::int32_t> action;
      for (int i = 0; i < kBlockRows; ++i) {
        action[i] = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(actions));
        // Some rows all the way down, up or both, the others near zero.
        const double low = i % 4 == 1 || i % 4 == 3 ? -kPlainScore : -3, high = i % 4 >= 2 ? kPlainScore : 3;
        for (int k = 0; k < actions; ++k) scores.at(i, k) = i % 8 == 1 ? low : uniform(random, low, high);
      }
      const auto run = [&](bool plain, Columns<double>& out) {
        for_each_tile(scores.data(), kBlockRows, actions, [&](ScoreTile tile) {
          tile.plain = plain;
          add_softmax_tile(tile, action.data(), actions, 0, out.data());
        });
      };
      run(false, expected);
      run(true, found);
      CAPTURE(actions);
      CHECK(std::memcmp(found.data(), expected.data(), kBlockRows * sizeof(double)) == 0);
    }
  });
}

namespace {

/// π(a|x) of every row, or π(a|x) / p.
Columns<double> densities(const Columns<double>& scores, const Columns<std::int32_t>& action, int actions,
                          double epsilon, const double* propensity) {
  Columns<double> out;
  for_each_tile(scores.data(), kBlockRows, actions, [&](const ScoreTile& tile) {
    add_softmax_density_tile(tile, action.data(), actions, epsilon, propensity, out.data());
  });
  return out;
}

}  // namespace

TEST_CASE("add_softmax_density_tile: equals the formula, and its quotient, for any number of actions and epsilon") {
  every_isa([] {
    for (const int actions : {1, 2, 3, 29, 30, 31, 64, 200}) {
      for (const double epsilon : {0.0, 0.1, 1e-12, 1.0}) {
        std::mt19937_64 random(25);
        const Columns<double> scores = random_scores(random, actions, 800);
        Columns<std::int32_t> action;
        Columns<double> propensity;
        for (int i = 0; i < kBlockRows; ++i) {
          action[i] = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(actions));
          propensity[i] = uniform(random, 0.01, 1);
        }
        const Columns<double> plain = densities(scores, action, actions, epsilon, nullptr);
        const Columns<double> weights = densities(scores, action, actions, epsilon, propensity.data());
        Worst worst;
        int unequal = 0;
        for (int i = 0; i < kBlockRows; i += stride(actions)) {
          const reference::Reals row = row_of(scores, i, actions);
          long double scale = 1;
          for (const long double s : row) scale = std::max(scale, std::abs(s));
          const long double log = reference::softmax_log_probability(row, action[i], epsilon);
          // What is below the least double with all digits has none to compare.
          if (log < -700) continue;
          worst.add(i, relative_error(plain[i], std::exp(log)) / static_cast<double>(scale));
          unequal += plain[i] > 1e-100 && weights[i] != plain[i] / propensity[i];
        }
        CAPTURE(actions);
        CAPTURE(epsilon);
        CAPTURE(worst.place);
        CHECK(worst.error <= 2 * kTolerance);
        CHECK(unequal == 0);
        if (actions == 1) CHECK(plain[0] == 1.0);
      }
    }
  });
}

TEST_CASE("add_softmax_density_tile: propensities may begin at any double") {
  every_isa([] {
    std::mt19937_64 random(12);
    Columns<double> scores(3), propensity(1), longer(2);
    const Columns<std::int32_t> action(1, 2);
    for (std::int64_t i = 0; i < 3 * kBlockRows; ++i) scores[i] = uniform(random, -3, 3);
    for (int i = 0; i < kBlockRows; ++i) longer[i + 1] = propensity[i] = uniform(random, 0.01, 1);
    const Columns<double> here = densities(scores, action, 3, 0.1, propensity.data());
    const Columns<double> there = densities(scores, action, 3, 0.1, longer.data() + 1);
    CHECK(std::memcmp(here.data(), there.data(), kBlockRows * sizeof(double)) == 0);
  });
}

TEST_CASE("add_softmax_density_tile: a probability below all doubles is not lost beside a propensity as small") {
  every_isa([] {
    for (const double gap : {400.0, 449.0, 451.0, 600.0, 700.0, 720.0, 760.0, 1400.0, 1e5}) {
      Columns<double> scores(2), propensity(1, 1e-300);
      const Columns<std::int32_t> action(1, 0);
      for (int i = 0; i < kBlockRows; ++i) scores.at(i, 1) = gap;
      const Columns<double> weights = densities(scores, action, 2, 0, propensity.data());
      const long double expected = std::exp(-static_cast<long double>(gap)) / 1e-300L;
      CAPTURE(gap);
      CHECK(relative_error(weights[5], expected, expected + 1e-300L) <= 1e-12);
      CHECK(relative_error(densities(scores, action, 2, 0, nullptr)[5], std::exp(-gap), std::exp(-gap) + 1e-300L) <=
            1e-12);
      CHECK(densities(scores, action, 2, 0.1, nullptr)[5] == doctest::Approx(0.05).epsilon(1e-15));
    }
  });
}

TEST_CASE("add_softmax_density_tile: rows past the end may have actions that do not exist") {
  for (const int actions : {3, 100}) {
    Columns<double> scores(actions, 1.0);
    Columns<std::int32_t> action(1, 1);
    for (int i = 1000; i < kBlockRows; ++i) action[i] = i % 2 == 0 ? -5 : 1 << 30;
    CHECK(densities(scores, action, actions, 0, nullptr)[999] == doctest::Approx(1.0 / actions).epsilon(1e-15));
  }
}

TEST_CASE("softmax_log_probability: a certain action has exactly 0, and likely ones keep all digits, at any height") {
  every_isa([] {
    for (const double height : {0.0, 7.0, 150.0, 199.0, 201.0, 650.0, 1e5, 1e300, -199.0, -201.0, -1e5}) {
      constexpr int kActions = 40;  // more than a tile
      for (const double gap : {800.0, 1e3, 0.0, 2.0, 20.0}) {
        Columns<double> scores(kActions, height - gap), out;
        Columns<std::int32_t> action(1, 35);
        for (int i = 0; i < kBlockRows; ++i) scores.at(i, 35) = height;
        softmax_log_probability(action.data(), scores.data(), kActions, 0, out.data());
        const long double below = static_cast<long double>(height - gap) - height;
        const long double expected = -std::log1p(39 * std::exp(below));
        CAPTURE(height);
        CAPTURE(gap);
        if (below < -100) {
          CHECK(out[0] == 0);
        } else {
          CHECK(log_error(out[0], expected) <= 2 * kTolerance);  // forty additions
        }
      }
    }
  });
}

TEST_CASE("multilabel_log_probability: equals the formula under both kinds of mixing and scores up to 800") {
  every_isa([] {
    for (const int labels : {1, 22, 64}) {
      for (const double epsilon : {0.0, 0.1, 1e-12, 1.0}) {
        for (const Mixing mixing : {Mixing::joint, Mixing::label}) {
          std::mt19937_64 random(24);
          const Columns<double> scores = random_scores(random, labels, 800);
          const BitRows bits(random, labels);
          Columns<double> out;
          multilabel_log_probability(bits.bits.data(), scores.data(), labels, epsilon, mixing, out.data());
          Worst worst;
          for (int i = 0; i < kBlockRows; i += stride(labels)) {
            const long double expected =
                reference::multilabel_log_probability(bits.row(i, labels), row_of(scores, i, labels), epsilon, mixing);
            worst.add(i, log_error(out[i], expected));
          }
          CAPTURE(labels);
          CAPTURE(epsilon);
          CAPTURE(static_cast<int>(mixing));
          CAPTURE(worst.place);
          // One rounding for each label on top.
          CHECK(worst.error <= kTolerance * (1 + labels / 20.0));
        }
      }
    }
  });
}

TEST_CASE("multilabel_label_probability: each bit's own probability, accurate on both tails") {
  every_isa([] {
    for (const int labels : {1, 22, 64}) {
      for (const double epsilon : {0.0, 0.1}) {
        std::mt19937_64 random(25);
        const Columns<double> scores = random_scores(random, labels, 700);
        const BitRows bits(random, labels);
        Columns<double> out(labels);
        multilabel_label_probability(bits.bits.data(), scores.data(), labels, epsilon, out.data());
        Worst worst;
        for (int k = 0; k < labels; ++k) {
          for (int i = 0; i < kBlockRows; ++i) {
            const long double expected =
                reference::label_probability(bits.bits.at(i, k) != 0, scores.at(i, k), epsilon);
            worst.add(i, relative_error(out.at(i, k), expected));
          }
        }
        CAPTURE(labels);
        CAPTURE(epsilon);
        CHECK(worst.error <= kTolerance);
      }
    }
  });
}

TEST_CASE("multilabel densities: probabilities of all bit patterns add up to one under both kinds of mixing") {
  constexpr int kLabels = 11;  // 2^11 = kBlockRows patterns, one a row
  static_assert(1 << kLabels == kBlockRows);
  std::mt19937_64 random(26);
  Columns<double> scores(kLabels);
  Columns<std::uint8_t> bits(kLabels);
  for (int k = 0; k < kLabels; ++k) {
    const double score = normal(random);
    for (int i = 0; i < kBlockRows; ++i) {
      scores.at(i, k) = score;
      bits.at(i, k) = static_cast<std::uint8_t>((i >> k) & 1);
    }
  }
  for (const Mixing mixing : {Mixing::joint, Mixing::label}) {
    Columns<double> out;
    multilabel_log_probability(bits.data(), scores.data(), kLabels, 0.1, mixing, out.data());
    long double total = 0;
    for (int i = 0; i < kBlockRows; ++i) total += std::exp(static_cast<long double>(out[i]));
    CHECK(relative_error(1.0, total) <= 1e-14);
  }
}
