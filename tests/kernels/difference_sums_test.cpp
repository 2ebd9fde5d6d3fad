// labels: fast isa
#include "scrm/kernels/weights/difference_sums.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "scrm/kernels/weights/logged_difference.hpp"
#include "support/every_isa.hpp"
#include "support/reference/reference.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;
using reference::Real;
using reference::Reals;

namespace {

struct Rows {
  std::vector<double> w, u, y;
};

Rows random_rows(int n) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n) * 7 + 1);
  Rows rows;
  for (int i = 0; i < n; ++i) {
    rows.w.push_back(std::pow(10.0, uniform(random, -1, 1)));
    rows.u.push_back(random() % 5 == 0 ? 0.0 : std::pow(10.0, uniform(random, -1, 1)));
    rows.y.push_back(normal(random) + 2);
  }
  return rows;
}

/// Sums over rows [first, first + count) as one block. Padding holds numbers that would spoil the sums.
DifferenceSums block_sums(const Rows& rows, int first, int count, bool logged, const WeightOptions& rules,
                          bool one_loop = false) {
  Columns<double> w(1, 1e7), u(1, std::nan("")), y(1, -1e9), u_used(1, 1e7);
  for (int i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(first + i);
    w[i] = rows.w[row];
    u[i] = u_used[i] = rows.u[row];
    y[i] = rows.y[row];
  }
  Block block;
  block.first_row = first;
  block.rows = count;
  block.loss = y.data();
  WeightSums own, baseline;
  DifferenceSums out;
  if (one_loop) {
    compute_logged_difference(block, w.data(), rules, own, out);
    return out;
  }
  compute_weight_sums(block, w.data(), rules, own);
  compute_weight_sums(block, u_used.data(), rules, baseline);
  compute_difference_sums(block, w.data(), own.top,
                          logged ? BaselineWeights{} : BaselineWeights{u.data(), baseline.top}, rules, out);
  return out;
}

/// The held rows join the others, as at the end of an evaluation.
DifferenceTerms finished(const DifferenceSums& sums, const WeightOptions& rules, bool logged) {
  DifferenceTerms out{sums.ips, sums.clipped, sums.ix};
  for (int h = 0; h < sums.held.count; ++h) {
    const DifferenceTerms one =
        difference_terms(sums.held.rows[static_cast<std::size_t>(h)], rules.alpha, {rules.clip, rules.clip}, logged);
    out.ips.merge(one.ips);
    out.clipped.merge(one.clipped);
    out.ix.merge(one.ix);
  }
  return out;
}

void check_moments(const Moments& actual, const Reals& d, bool ranges = true) {
  const Real size = reference::mean(reference::map_rows(d, d, [](Real x, Real) { return std::abs(x); }));
  CHECK(actual.count == static_cast<double>(d.size()));
  CHECK(relative_error(actual.true_mean(), reference::mean(d), size) <= 1e-13);
  CHECK(relative_error(actual.square_sum, reference::centred_products(d, d, d.size()), size * size) <= 1e-11);
  if (!ranges) return;
  CHECK(relative_error(actual.highest, *std::max_element(d.begin(), d.end()), size) <= 1e-13);
  CHECK(relative_error(actual.lowest, *std::min_element(d.begin(), d.end()), size) <= 1e-13);
}

/// The sums for self-normalised estimators, over the rows that are not held.
void check_joint(const DifferenceSums& sums, const Rows& rows, bool logged) {
  Real v = 0, vy = 0, uvyy = 0, vvyy = 0, uuyy = 0;
  std::vector<bool> is_held(rows.y.size());
  for (int h = 0; h < sums.held.count; ++h)
    is_held[static_cast<std::size_t>(sums.held.rows[static_cast<std::size_t>(h)].row)] = true;
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    const Real u = logged ? Real{1} : Real{rows.u[i]}, d = rows.w[i] - u, y = rows.y[i];
    if (is_held[i]) continue;
    v += d;
    vy += d * y;
    uvyy += u * d * y * y;
    vvyy += d * d * y * y;
    uuyy += u * u * y * y;
  }
  SignedMoments difference = sums.difference, product = sums.product;
  difference.recentre(0);
  product.recentre(0);
  const auto n = static_cast<Real>(rows.y.size());
  CHECK(relative_error(difference.total, v, 10 * n) <= 1e-14);
  CHECK(relative_error(difference.first, vy, 30 * n) <= 1e-14);
  CHECK(relative_error(product.second, uvyy, 1000 * n) <= 1e-14);
  const auto squares = [](const SquareWeightedMoments& sum) {
    const double root = sum.root_square_sum_around(0);
    return root * root;
  };
  CHECK(relative_error(squares(sums.squared_difference), vvyy, 1000 * n) <= 1e-14);
  CHECK(relative_error(squares(sums.squared_baseline), uuyy, 1000 * n) <= 1e-14);
}

}  // namespace

TEST_CASE("difference sums: every number equals the reference at awkward lengths, in blocks of any size") {
  every_isa([] {
    for (const int n : {1, 3, 5, 6, 7, 10, 11, 63, 64, 65, 127, 2047, 2048, 4099}) {
      for (const bool logged : {true, false}) {
        CAPTURE(n);
        CAPTURE(logged);
        const Rows rows = random_rows(n);
        const WeightOptions rules{.alpha = 0.05, .clip = 1.5, .ranges = true};
        DifferenceSums all;
        for (int first = 0; first < n; first += 777) {
          merge_difference_sums(all, block_sums(rows, first, std::min(777, n - first), logged, rules), rules, logged);
        }
        CHECK(all.held.count == (logged ? std::min(n, 5) : all.held.count));
        CHECK(all.held.count <= 10);
        Reals ips, clipped, ix;
        for (std::size_t i = 0; i < rows.y.size(); ++i) {
          const Real w = rows.w[i], u = rows.u[i], y = rows.y[i];
          ips.push_back((w - (logged ? 1 : u)) * y);
          clipped.push_back((std::min(w, Real{1.5}) - (logged ? 1 : std::min(u, Real{1.5}))) * y);
          ix.push_back((w / (1 + Real{0.05} * w) - (logged ? 1 : u / (1 + Real{0.05} * u))) * y);
        }
        const DifferenceTerms terms = finished(all, rules, logged);
        check_moments(terms.ips, ips);
        check_moments(terms.clipped, clipped);
        check_moments(terms.ix, ix);
        check_joint(all, rows, logged);
      }
    }
  });
}

TEST_CASE("difference sums: the logged actions' are the same in the loop of the weights, but for rounding") {
  every_isa([] {
    for (const int n : {1, 5, 6, 7, 63, 64, 65, 2048, 4099}) {
      CAPTURE(n);
      const Rows rows = random_rows(n);
      const WeightOptions rules{.alpha = 0.05, .clip = 0, .ranges = false};
      DifferenceSums all;
      for (int first = 0; first < n; first += 777) {
        merge_difference_sums(all, block_sums(rows, first, std::min(777, n - first), true, rules, true), rules, true);
      }
      Reals ips, ix;
      for (std::size_t i = 0; i < rows.y.size(); ++i) {
        const Real w = rows.w[i], y = rows.y[i];
        ips.push_back((w - 1) * y);
        ix.push_back((w / (1 + Real{0.05} * w) - 1) * y);
      }
      const DifferenceTerms terms = finished(all, rules, true);
      check_moments(terms.ips, ips, false);
      check_moments(terms.ix, ix, false);
      check_joint(all, rows, true);
    }
  });
}

TEST_CASE("difference sums: the rows that are held are the five largest of either side") {
  const Rows rows = random_rows(3000);
  const WeightOptions rules{.alpha = 0.05, .clip = 0, .ranges = false};
  DifferenceSums all;
  for (int first = 0; first < 3000; first += 1000)
    merge_difference_sums(all, block_sums(rows, first, 1000, false, rules), rules, false);
  for (const std::vector<double>* side : {&rows.w, &rows.u}) {
    std::vector<std::size_t> order(3000);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [side](std::size_t a, std::size_t b) { return (*side)[a] > (*side)[b]; });
    for (std::size_t t = 0; t < 5; ++t) {
      const auto held = std::span(all.held.rows).first(static_cast<std::size_t>(all.held.count));
      CHECK(std::any_of(held.begin(), held.end(), [&](const PairedRow& row) {
        return row.row == static_cast<std::int64_t>(order[t]) && row.weight == rows.w[order[t]] &&
               row.baseline == rows.u[order[t]] && row.loss == rows.y[order[t]];
      }));
    }
  }
}
