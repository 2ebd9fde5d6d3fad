// labels: fast
#include "estimate/model/design_rows.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "support/rows/replayed_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

using Real = long double;

/// (F Fᵀ + ½) a = values, by elimination, in units in which a row by itself counts as one.
std::vector<Real> whitened(const std::vector<std::vector<Real>>& factors, const std::vector<Real>& values, Real unit) {
  const std::size_t n = values.size();
  std::vector<std::vector<Real>> matrix(n, std::vector<Real>(n + 1));
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t s = 0; s < n; ++s) {
      for (std::size_t o = 0; o < factors[r].size(); ++o) matrix[r][s] += factors[r][o] * factors[s][o];
    }
    matrix[r][r] += 0.5L;
    matrix[r][n] = unit * values[r];
  }
  for (std::size_t c = 0; c < n; ++c) {
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const Real factor = matrix[r][c] / matrix[c][c];
      for (std::size_t k = c; k <= n; ++k) matrix[r][k] -= factor * matrix[c][k];
    }
  }
  std::vector<Real> out;
  for (std::size_t r = 0; r < n; ++r) out.push_back(matrix[r][n] / matrix[r][r]);
  return out;
}

}  // namespace

TEST_CASE(
    "design rows: rows of a context are weighed as least squares with their shared noise asks, held or made anew") {
  for (const PolicyKind kind : {PolicyKind::multilabel, PolicyKind::softmax, PolicyKind::gaussian}) {
    for (const int replays : {2, 4, 8, 16}) {
      CAPTURE(replays);
      Schema schema = schema_for(kind, 2);
      if (kind == PolicyKind::multilabel) schema.num_actions = 9;
      const LoggedRows rows = replayed_rows(schema, 3 * 16 * replays, replays, 7);
      MemorySource source = shared_source(rows, replays);
      const RidgeShape shape(source.schema());
      const Folds folds(source);
      const RidgeUnits units = first_units(source);
      const RowMask some = RowMask::random(rows.rows, 0.8, 3, 0);
      const auto loader = source.make_loader();
      const auto group = source.fetch(0, 1);
      Audit audit;
      const Block block = source.load(*group, 0, *loader, audit);
      DesignRows design(shape, units, folds, &some);
      const DesignRows::OfBlock of_rows = design.of(block);
      std::vector<double> values(kBlockRows);
      std::mt19937_64 random(5);
      for (int i = 0; i < block.rows; ++i)
        values[static_cast<std::size_t>(i)] = of_rows.keep[static_cast<std::size_t>(i)] != 0 ? normal(random) : 0;
      std::vector<double> anew = values, first = values, again = values;
      design.whiten(block, of_rows.keep.data(), anew.data());
      const bool held = DesignRows::held_bytes(shape, source) > 0;
      CHECK(held == (replays <= 8 && replays <= design.outputs()));
      if (held) design.hold(source);
      design.whiten(block, of_rows.keep.data(), first.data());
      design.whiten(block, of_rows.keep.data(), again.data());
      CHECK(first == again);
      const Real unit = kind == PolicyKind::softmax ? 1 : design.outputs();
      double worst = 0;
      for (int c = 0; c < block.rows; c += replays) {
        std::vector<std::vector<Real>> factors(static_cast<std::size_t>(replays));
        std::vector<Real> own;
        for (int r = 0; r < replays; ++r) {
          const bool counts = of_rows.keep[static_cast<std::size_t>(c + r)] != 0;
          for (int o = 0; o < design.outputs(); ++o)
            factors[static_cast<std::size_t>(r)].push_back(counts ? design.factor(block, o, c + r) : 0);
          own.push_back(values[static_cast<std::size_t>(c + r)]);
        }
        const std::vector<Real> expected = whitened(factors, own, unit);
        for (int r = 0; r < replays; ++r) {
          const auto at = static_cast<std::size_t>(c + r);
          for (const double actual : {anew[at], first[at]}) {
            const Real error = std::abs(actual - expected[static_cast<std::size_t>(r)]);
            worst = std::max(worst, static_cast<double>(error));
          }
        }
      }
      CHECK(worst < 1e-10);
    }
  }
}

TEST_CASE("design rows: predictions and coefficients of contexts are those of their rows") {
  for (const PolicyKind kind : {PolicyKind::multilabel, PolicyKind::softmax, PolicyKind::gaussian}) {
    const int replays = 4;
    const LoggedRows rows = replayed_rows(schema_for(kind, 3), 92, replays, 9);
    MemorySource source = shared_source(rows, replays);
    const RidgeShape shape(source.schema());
    const Folds folds(source);
    const RidgeUnits units = first_units(source);
    const DesignRows design(shape, units, folds, nullptr);
    Policy theta;
    theta.kind = PolicyKind::softmax;
    theta.outputs = design.outputs();
    std::mt19937_64 random(3);
    for (int j = 0; j < 4 * theta.outputs; ++j) theta.theta.push_back(normal(random));
    const ScoreMatrix matrix(theta, source.schema());
    const auto loader = source.make_loader();
    const auto group = source.fetch(0, 1);
    Audit audit;
    const Block block = source.load(*group, 0, *loader, audit);
    PolicyScratch scratch;
    double* columns = scratch.columns(PolicyScratch::kCallerSlot, theta.outputs);
    std::vector<double> predicted(kBlockRows), values(kBlockRows);
    design.predict(block, matrix, scratch, columns, predicted.data());
    for (double& value : values) value = normal(random);
    std::vector<Real> sums(static_cast<std::size_t>(theta.outputs) * 23);
    for (int i = 0; i < 92; ++i) {
      Real expected = 0;
      for (int o = 0; o < theta.outputs; ++o) {
        Real score = theta.theta[static_cast<std::size_t>(4 * o)];
        for (int j = 0; j < 3; ++j)
          score += static_cast<Real>(theta.theta[static_cast<std::size_t>(4 * o + 1 + j)]) *
                   LoggedRows::cell(rows.context, i, j, 3);
        expected += design.factor(block, o, i) * score;
        sums[static_cast<std::size_t>(23 * o + i / replays)] +=
            static_cast<Real>(design.factor(block, o, i)) * values[static_cast<std::size_t>(i)];
      }
      CHECK(predicted[static_cast<std::size_t>(i)] == doctest::Approx(static_cast<double>(expected)).epsilon(1e-12));
    }
    design.shared_coefficients(block, values.data(), columns);
    for (int o = 0; o < theta.outputs; ++o) {
      for (int c = 0; c < 23; ++c)
        CHECK(columns[cell(o, c)] ==
              doctest::Approx(static_cast<double>(sums[static_cast<std::size_t>(23 * o + c)])).epsilon(1e-11));
      for (int c = 23; c < 32; ++c) CHECK(columns[cell(o, c)] == 0);  // products go over whole vectors
    }
  }
}
