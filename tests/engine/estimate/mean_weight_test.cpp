// labels: statistical
// How often weights of right propensities are said not to average to one. Seeds are fixed; the limits are one in a
// hundred for what is counted, with the 300 logs of a cell and three standard errors to spare.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

using Draw = std::function<double(std::mt19937_64&)>;

/// π/p for an action that the logging policy took: a ~ N(0, 1) and π = N(shift, scale²).
Draw gaussian(double shift, double scale) {
  return [=](std::mt19937_64& random) {
    const double a = std::normal_distribution<double>()(random), off = (a - shift) / scale;
    return std::exp(0.5 * a * a - 0.5 * off * off) / scale;
  };
}

/// Of K actions, logged uniformly; those the policy takes by a softmax of random scores.
Draw softmax(int actions, double spread) {
  return [=](std::mt19937_64& random) {
    std::normal_distribution<double> normal(0, spread);
    double total = 0, taken = 0;
    for (int k = 0; k < actions; ++k) {
      const double one = std::exp(normal(random));
      total += one;
      if (k == 0) taken = one;
    }
    return 0.9 * actions * taken / total + 0.1;
  };
}

bool says_wrong(const Draw& draw, std::size_t rows, double factor, std::mt19937_64& random) {
  Schema schema;
  schema.features = 1;
  schema.targets = {"it"};
  LoggedRows log = random_rows(schema, static_cast<std::int64_t>(rows), 1);
  for (std::size_t i = 0; i < rows; ++i) {
    log.targets[0][i] = draw(random);
    log.propensity[i] = factor;
  }
  MemorySource source = make_source(log);
  EvaluateOptions options;
  options.estimators = {"ips"};
  PassOptions pass;
  pass.threads = 1;
  const EvaluationReport report = evaluate(source, {{"it", make_target_column_policy(0)}}, options, pass);
  for (const std::string& warning : report.policies[0].diagnostics.warnings) {
    if (warning.find("propensities are wrong") != std::string::npos) return true;
  }
  return false;
}

double share_said_wrong(const Draw& draw, std::size_t rows, double factor, int logs) {
  std::mt19937_64 random(rows);
  int said = 0;
  for (int log = 0; log < logs; ++log) said += says_wrong(draw, rows, factor, random);
  return static_cast<double>(said) / logs;
}

struct Named {
  std::string name;
  Draw draw;
};

const std::vector<Named> kNear = {{"near", gaussian(0.3, 1)}, {"narrow", gaussian(0, 0.5)}, {"of 3", softmax(3, 1)}};
const std::vector<Named> kFar = {{"far", gaussian(1, 1)},
                                 {"wide", gaussian(0, 1.3)},
                                 {"very narrow", gaussian(0, 0.1)},
                                 {"of 10", softmax(10, 2)},
                                 {"of 300", softmax(300, 2)}};

}  // namespace

TEST_CASE("mean weight: right propensities are rarely said to be wrong, of two rows or of a thousand") {
  constexpr int kLogs = 300;
  constexpr double kMost = 0.01 + 3 * 0.0058;  // √(0.01 · 0.99 / 300)
  for (const std::vector<Named>& designs : {kNear, kFar}) {
    for (const auto& [name, draw] : designs) {
      for (const std::size_t rows : {2, 3, 5, 10, 20, 50, 200, 1000}) {
        CAPTURE(name);
        CAPTURE(rows);
        CHECK(share_said_wrong(draw, rows, 1, kLogs) <= kMost);
      }
    }
  }
}

TEST_CASE("mean weight: propensities that are half too large or too small are said to be wrong from 200 rows on") {
  for (const auto& [name, draw] : kNear) {
    for (const double factor : {0.5, 1.5}) {
      CAPTURE(name);
      CAPTURE(factor);
      CHECK(share_said_wrong(draw, 200, factor, 50) >= 0.98);
      CHECK(share_said_wrong(draw, 1000, factor, 50) == 1);
    }
  }
}
