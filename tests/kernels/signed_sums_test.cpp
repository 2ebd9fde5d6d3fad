// labels: fast isa
#include "scrm/kernels/scores/signed_sums.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

struct SignedRows {
  SignedRows(std::mt19937_64& random, int contexts) : bits(1) {
    for (int i = 0; i < kBlockRows; ++i) {
      // Any byte above zero is a bit that is set.
      bits[i] = static_cast<std::uint8_t>(random() % 3 == 0 ? 0 : 1 + random() % 255);
      rows[i] = normal(random);
    }
    for (int c = 0; c < contexts; ++c) scores[c] = normal(random);
  }

  double sign(int row) const { return bits[row] != 0 ? 1 : -1; }

  Columns<std::uint8_t> bits;
  Columns<double> rows, scores;
};

template <class Check>
void every_shape(Check check) {
  every_isa([&] {
    for (const int replays : {1, 2, 4, 8, 16, 128}) {
      for (const int contexts : {0, 1, 3, 7, kBlockRows / replays}) {
        if (contexts > kBlockRows / replays) continue;
        CAPTURE(replays);
        CAPTURE(contexts);
        std::mt19937_64 random(static_cast<std::uint64_t>(replays * 100 + contexts));
        check(SignedRows(random, contexts), contexts, replays);
      }
    }
  });
}

}  // namespace

TEST_CASE("add_signed_scores: every row gets its context's score with its own sign, and no other row anything") {
  every_shape([](const SignedRows& given, int contexts, int replays) {
    Columns<double> rows;
    for (int i = 0; i < kBlockRows; ++i) rows[i] = given.rows[i];
    add_signed_scores(given.bits.data(), given.scores.data(), contexts, replays, rows.data());
    int wrong = 0;
    for (int i = 0; i < kBlockRows; ++i) {
      const double expected =
          i < contexts * replays ? given.rows[i] + given.sign(i) * given.scores[i / replays] : given.rows[i];
      wrong += rows[i] != expected;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("signed_context_sums: every context gets the sum of its rows with their signs, and no other anything") {
  every_shape([](const SignedRows& given, int contexts, int replays) {
    Columns<double> out(1, -3.0);
    signed_context_sums(given.bits.data(), given.rows.data(), contexts, replays, out.data());
    Worst worst;
    for (int c = 0; c < contexts; ++c) {
      long double sum = 0, size = 0;
      for (int i = c * replays; i < (c + 1) * replays; ++i) {
        sum += given.sign(i) * given.rows[i];
        size += std::abs(given.rows[i]);
      }
      worst.add(c, relative_error(out[c], sum, size));
    }
    CHECK(worst.error <= 1.2e-16 * (replays + 1));
    if (contexts < kBlockRows) CHECK(out[contexts] == -3.0);
  });
}
