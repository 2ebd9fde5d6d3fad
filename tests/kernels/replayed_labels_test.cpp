// labels: fast isa
#include "scrm/kernels/weights/replayed_labels.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "scrm/kernels/weights/learning_terms.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr int kLabels = 3;

/// Rows of a few contexts with random bits.
struct Replays {
  explicit Replays(int replays) : bits(kLabels) {
    std::mt19937_64 random(3);
    for (int i = 0; i < kLabels * kBlockRows; ++i) bits[i] = static_cast<std::uint8_t>(random() % 2);
    block.rows = 8 * replays;
    block.num_actions = kLabels;
    block.replays = replays;
    block.bits = bits.data();
  }

  Columns<std::uint8_t> bits;
  Block block;
};

/// The coefficient of label k in context c, row by row.
double coefficient(const Replays& rows, const LabelLogOdds& odds, const double* row, int k, int c) {
  long double sum = 0;
  for (int i = c * rows.block.replays; i < (c + 1) * rows.block.replays; ++i) {
    const bool set = rows.block.bits[k * kBlockRows + i] != 0;
    sum += static_cast<long double>(row[i]) * odds.unset_gradient[k * kBlockRows + c];
    if (set) sum += row[i];
  }
  return static_cast<double>(sum);
}

}  // namespace

TEST_CASE("Coefficients of labels are those of the rows, and what changes no sum is zero") {
  every_isa([] {
    for (const int replays : {2, 4}) {
      CAPTURE(replays);
      const Replays rows(replays);
      Columns<double> unset(kLabels), row, out(kLabels);
      std::mt19937_64 random(5);
      for (int i = 0; i < kLabels * kBlockRows; ++i) unset[i] = -1 / (1 + std::exp(normal(random)));
      for (int i = 0; i < kBlockRows; ++i) row[i] = i < rows.block.rows ? normal(random) : 0;
      const LabelLogOdds odds{.log_odds = nullptr, .log_none = nullptr, .unset_gradient = unset.data()};

      replayed_coefficients(rows.block, odds, row.data(), out.data());
      for (int k = 0; k < kLabels; ++k) {
        for (int c = 0; c < 8; ++c)
          CHECK(out[k * kBlockRows + c] == doctest::Approx(coefficient(rows, odds, row.data(), k, c)).epsilon(1e-14));
      }

      // Sizes at which products would leave the ordinary doubles; one context keeps an ordinary row, another has NaN.
      for (int i = replays; i < 7 * replays; ++i) row[i] *= 1e-300;
      row[7 * replays] = std::numeric_limits<double>::quiet_NaN();
      replayed_coefficients(rows.block, odds, row.data(), out.data());
      for (int k = 0; k < kLabels; ++k) {
        CHECK(out[k * kBlockRows] == doctest::Approx(coefficient(rows, odds, row.data(), k, 0)).epsilon(1e-14));
        for (int c = 1; c < 7; ++c) CHECK(out[k * kBlockRows + c] == 0);
        CHECK(std::isnan(out[k * kBlockRows + 7]));
      }
    }
  });
}

TEST_CASE("The log-probability of a row is that of its context's bits") {
  every_isa([] {
    for (const int replays : {2, 4}) {
      CAPTURE(replays);
      const Replays rows(replays);
      Columns<double> log_odds(kLabels), log_none, out;
      std::mt19937_64 random(7);
      for (int i = 0; i < kLabels * kBlockRows; ++i) log_odds[i] = normal(random);
      for (int i = 0; i < kBlockRows; ++i) log_none[i] = normal(random);
      replayed_log_probability(rows.block, {.log_odds = log_odds.data(), .log_none = log_none.data()}, out.data());
      for (int i = 0; i < rows.block.rows; ++i) {
        double expected = log_none[i / replays];
        for (int k = 0; k < kLabels; ++k)
          expected += rows.block.bits[k * kBlockRows + i] != 0 ? log_odds.at(i / replays, k) : 0;
        CHECK(out[i] == doctest::Approx(expected).epsilon(1e-14));
      }
    }
  });
}

TEST_CASE("Coefficients of a gradient that change no sum are zero, and NaN is not") {
  every_isa([] {
    Columns<double> slope, spread, score(2), risk(2), variance(2);
    for (int i = 0; i < kBlockRows; ++i) {
      slope[i] = i % 2 == 0 ? 2.0 : 1e-200;
      spread[i] = 3;
      score[i] = 5;
      score[kBlockRows + i] = i % 4 < 2 ? 1e-100 : std::numeric_limits<double>::quiet_NaN();
    }
    gradient_coefficients(slope.data(), spread.data(), score.data(), 2, risk.data(), variance.data());
    CHECK(risk[0] == 10);
    CHECK(variance[0] == 30);
    CHECK(risk[1] == 5e-200);
    CHECK(risk[kBlockRows] == 2e-100);
    CHECK(risk[kBlockRows + 1] == 0);
    CHECK(variance[kBlockRows + 1] == 0);
    CHECK(std::isnan(risk[kBlockRows + 2]));
    CHECK(std::isnan(variance[kBlockRows + 3]));
  });
}
