// labels: slow
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "regression/kernel_ridge/kernel_values.hpp"
#include "scrm/engine/regression/kernel_ridge.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "support/reference/kernel_fits.hpp"
#include "support/reference/kernel_reference.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

StateKernel polynomial(std::int64_t features, int degree) {
  return {.kind = KernelKind::polynomial, .features = features, .degree = degree};
}

KernelRidge fitted(const StateKernel& kernel, double lambda, std::int64_t points, const RidgeRows& rows,
                   const std::vector<std::size_t>& batches) {
  return testing::fitted(ridge_with(kernel, lambda, RidgeSolver::inducing_points, points), rows, batches);
}

/// Widths by the polynomials of the action.
std::vector<double> along_actions(const KernelRidge& ridge, const RidgeRows& queries, const StateKernel& kernel) {
  std::vector<double> out;
  const auto width = static_cast<std::size_t>(kernel.state_size()), p = static_cast<std::size_t>(kernel.degree);
  for (std::size_t i = 0; i < queries.y.size(); ++i) {
    std::vector<double> mean(p + 1), square(2 * p + 1);
    const std::span state(queries.states.data() + i * width, width);
    ridge.action_polynomials(state.first(width - 1), 1, mean, square);
    double sum = 0;
    for (std::size_t q = 2 * p + 1; q-- > 0;) sum = sum * state.back() + square[q];
    out.push_back(std::sqrt(sum));
  }
  return out;
}

/// Contexts that come four times, twice with one action and twice with others.
RidgeRows replayed(const StateKernel& kernel, std::int64_t contexts, std::uint64_t seed) {
  RidgeRows rows = ridge_rows(kernel, 4 * contexts, seed);
  for (std::int64_t i = 0; i < 4 * contexts; ++i) {
    const std::int64_t numbers = i % 4 == 1 ? kernel.state_size() : kernel.features;
    std::copy_n(rows.states.begin() + i / 4 * 4 * kernel.state_size(), numbers,
                rows.states.begin() + i * kernel.state_size());
  }
  return rows;
}

/// Actions are integers of 22 bits, or as many as are asked for.
RidgeRows with_integers(const StateKernel& kernel, std::int64_t contexts, std::uint64_t seed, int bits = 22) {
  RidgeRows rows = replayed(kernel, contexts, seed);
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    double& a = rows.states[(i + 1) * static_cast<std::size_t>(kernel.state_size()) - 1];
    a = std::floor((a + 2) / 4 * std::ldexp(1.0, bits));
  }
  return rows;
}

/// Means and squared widths as polynomials of the action, in long double and in feature space: kernel values of 1e27
/// would leave no digits even there. A feature is a coefficient and its power of the action.
class Reference {
 public:
  Reference(const StateKernel& kernel, double lambda, const RidgeRows& rows) : kernel_(kernel) {
    const auto width = static_cast<std::size_t>(kernel.state_size());
    const std::size_t d = features(rows.states.data()).size();
    LongMatrix gram{d, d};
    LongVector moment(d, 0.0L);
    for (std::size_t i = 0; i < rows.y.size(); ++i) {
      const double* state = rows.states.data() + i * width;
      LongVector phi = features(state);
      for (std::size_t k = 0; k < d; ++k) phi[k] *= std::pow(static_cast<long double>(state[width - 1]), powers_[k]);
      for (std::size_t k = 0; k < d; ++k) {
        moment[k] += phi[k] * rows.y[i];
        for (std::size_t l = 0; l < d; ++l) gram(k, l) += phi[k] * phi[l];
      }
    }
    for (std::size_t k = 0; k < d; ++k) gram(k, k) += lambda;
    solver_ = std::make_unique<LongCholesky>(gram);
    weights_ = solver_->solve(moment);
  }

  std::vector<double> mean(const double* context) const {
    std::vector<double> out(static_cast<std::size_t>(kernel_.degree) + 1, 0.0);
    for (std::size_t q = 0; q < out.size(); ++q) out[q] = product(column(context, static_cast<int>(q)), weights_);
    return out;
  }

  std::vector<double> square(const double* context) const {
    std::vector<double> out(2 * static_cast<std::size_t>(kernel_.degree) + 1, 0.0);
    for (int q = 0; q <= kernel_.degree; ++q) {
      const LongVector solved = solver_->solve(column(context, q));
      for (int r = 0; r <= kernel_.degree; ++r) {
        out[static_cast<std::size_t>(q + r)] += product(column(context, r), solved);
      }
    }
    return out;
  }

 private:
  static double product(const LongVector& a, const LongVector& b) {
    return static_cast<double>(std::inner_product(a.begin(), a.end(), b.begin(), 0.0L));
  }

  LongVector column(const double* context, int power) const {
    LongVector out = features(context);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = powers_[k] == power ? out[k] : 0;
    return out;
  }

  /// Products of `degree` of the numbers 1, x, a in order, a left out but for its power.
  LongVector features(const double* context) const {
    LongVector out;
    powers_.clear();
    std::vector<std::int64_t> chosen;
    const std::function<void(std::int64_t)> choose = [&](std::int64_t from) {
      if (static_cast<int>(chosen.size()) == kernel_.degree) {
        long double value = 1, ways = 1;
        int power = 0, again = 0;
        for (std::size_t i = 0; i < chosen.size(); ++i) {
          again = i > 0 && chosen[i] == chosen[i - 1] ? again + 1 : 1;
          ways *= static_cast<long double>(i + 1) / again;
          if (chosen[i] > kernel_.features) {
            ++power;
          } else if (chosen[i] > 0) {
            value *= context[chosen[i] - 1];
          }
        }
        out.push_back(std::sqrt(ways) * value);
        powers_.push_back(power);
        return;
      }
      for (std::int64_t v = from; v <= kernel_.features + 1; ++v) {
        chosen.push_back(v);
        choose(v);
        chosen.pop_back();
      }
    };
    choose(0);
    return out;
  }

  StateKernel kernel_;
  mutable std::vector<int> powers_;
  std::unique_ptr<LongCholesky> solver_;
  LongVector weights_;
};

/// Coefficient q counts as often as the largest action to its power.
std::vector<double> at_largest(std::vector<double> polynomial, int bits = 22) {
  for (std::size_t q = 0; q < polynomial.size(); ++q) {
    polynomial[q] = std::ldexp(polynomial[q], bits * static_cast<int>(q));
  }
  return polynomial;
}

void check_against_reference(const StateKernel& kernel, std::int64_t points, const RidgeRows& rows) {
  const KernelRidge ridge = fitted(kernel, 1, points, rows, {rows.y.size() / 2, rows.y.size() - rows.y.size() / 2});
  const Reference truth(kernel, 1, rows);
  const RidgeRows queries = ridge_rows(kernel, 12, 77);
  const auto p = static_cast<std::size_t>(kernel.degree), width = static_cast<std::size_t>(kernel.state_size());
  const ActionGrid grid{0, 1, std::int64_t{1} << 22};
  for (std::size_t i = 0; i < queries.y.size(); ++i) {
    const std::span context(queries.states.data() + i * width, width - 1);
    std::vector<double> mean(p + 1), square(2 * p + 1);
    ridge.action_polynomials(context, 1, mean, square);
    const std::vector<double> true_mean = truth.mean(context.data()), true_square = truth.square(context.data());
    CHECK(difference(at_largest(mean), at_largest(true_mean)) < 1e-7);
    CHECK(difference(at_largest(square), at_largest(true_square)) < 1e-7);
    const double beta = 0.3;
    CHECK(best_action(mean, square, beta, grid).index == best_action(true_mean, true_square, beta, grid).index);
    // The same by asking for one state.
    std::vector<double> state(context.begin(), context.end()), one_mean(1), one_width(1);
    state.push_back(3'000'000);
    ridge.mean_and_width(state, one_mean, one_width);
    double by_mean = 0, by_square = 0;
    for (std::size_t q = p + 1; q-- > 0;) by_mean = by_mean * 3e6 + true_mean[q];
    for (std::size_t q = 2 * p + 1; q-- > 0;) by_square = by_square * 3e6 + true_square[q];
    CHECK(one_mean[0] == doctest::Approx(by_mean).epsilon(1e-6).scale(1));
    CHECK(one_width[0] == doctest::Approx(std::sqrt(by_square)).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("polynomial nystroem: with every context a point it is exact") {
  for (const int degree : {2, 3}) {
    for (const double lambda : {1.0, 30.0}) {
      CAPTURE(degree);
      CAPTURE(lambda);
      // 45 and 165 monomials, 40 points, 24 contexts.
      const StateKernel kernel = polynomial(8, degree);
      const RidgeRows rows = replayed(kernel, 24, 5), queries = ridge_rows(kernel, 50, 6);
      const RidgeAnswers truth = textbook(kernel, lambda, rows, queries.states);
      const KernelRidge ridge = fitted(kernel, lambda, 40, rows, {96});
      CHECK(ridge.dimension() == (degree == 2 ? 24 : 48) + 9 + 1);
      CHECK(ridge.trace_error() < 1e-12);
      const RidgeAnswers found = answers(ridge, queries.states, kernel.state_size());
      CHECK(difference(found.mean, truth.mean) < 1e-8);
      CHECK(difference(found.width, truth.width) < 1e-8);
      CHECK(difference(along_actions(ridge, queries, kernel), truth.width) < 1e-8);
      const RidgeAnswers parts = answers(fitted(kernel, lambda, 40, rows, {6, 0, 50, 40}), queries.states, 9);
      CHECK(difference(parts.mean, truth.mean) < 1e-8);
      CHECK(difference(parts.width, truth.width) < 1e-8);
    }
  }
}

TEST_CASE("polynomial nystroem: monomials that are no more than the points are exact, whatever the rows") {
  for (const StateKernel& kernel : {polynomial(4, 2), polynomial(3, 3), polynomial(0, 2), polynomial(1, 1)}) {
    const RidgeRows rows = replayed(kernel, 60, 7), queries = ridge_rows(kernel, 30, 8);
    const RidgeAnswers truth = textbook(kernel, 2, rows, queries.states);
    const KernelRidge ridge = fitted(kernel, 2, 20, rows, {100, 140});
    CHECK(ridge.dimension() == feature_dimension(kernel));
    CHECK(ridge.trace_error() == 0);
    const RidgeAnswers found = answers(ridge, queries.states, kernel.state_size());
    CHECK(difference(found.mean, truth.mean) < 1e-9);
    CHECK(difference(found.width, truth.width) < 1e-9);
  }
}

TEST_CASE("polynomial nystroem: comes to the exact answer as points grow") {
  const StateKernel kernel = polynomial(10, 2);
  const RidgeRows rows = replayed(kernel, 200, 9), queries = ridge_rows(kernel, 60, 10);
  const RidgeAnswers truth = textbook(kernel, 5, rows, queries.states);
  std::vector<double> errors;
  double last_trace = 1;
  for (const std::int64_t points : {5, 20, 40, 60, 65}) {
    const KernelRidge ridge = fitted(kernel, 5, points, rows, {300, 500});
    CHECK(ridge.dimension() == points + 11 + 1);
    CHECK(ridge.trace_error() < last_trace);
    last_trace = ridge.trace_error();
    errors.push_back(difference(answers(ridge, queries.states, kernel.state_size()).mean, truth.mean));
  }
  CHECK(errors[4] < errors[0] / 10);
  // Of 66 monomials the last.
  CHECK(last_trace < 0.01);
  CHECK(difference(answers(fitted(kernel, 5, 66, rows, {800}), queries.states, 11).mean, truth.mean) < 1e-8);
}

TEST_CASE("polynomial nystroem: what points leave out of a context is as uncertain as if never seen") {
  const StateKernel kernel = polynomial(6, 2);
  RidgeRows rows = replayed(kernel, 30, 3);
  for (std::size_t i = 0; i < rows.y.size(); ++i) rows.states[7 * i + 5] = 0;
  const KernelRidge ridge = fitted(kernel, 4, 20, rows, {120});
  // No row has feature 5: of (1 + 100)² nothing is known but what goes with lower powers of it.
  const std::vector<double> far = {0, 0, 0, 0, 0, 1e3, 0};
  std::vector<double> mean(1), width(1);
  ridge.mean_and_width(far, mean, width);
  CHECK(width[0] == doctest::Approx(1e6 / 2).epsilon(1e-4));
}

TEST_CASE("polynomial nystroem: integers up to four million leave the context its digits") {
  for (const int degree : {2, 3}) {
    CAPTURE(degree);
    const StateKernel kernel = polynomial(3, degree);
    // Monomials; then, of 9 contexts, as many points as contexts, which are fewer than the monomials.
    check_against_reference(kernel, 1000, with_integers(kernel, 15, 41));
    if (degree == 2) check_against_reference(kernel, 9, with_integers(kernel, 9, 42));
  }
}

TEST_CASE("polynomial nystroem: few rows of large integers are fitted for all that they can tell") {
  const StateKernel kernel = polynomial(12, 2);
  // Three contexts, so that of thirteen features that go with the action ten are made up by others, and rounding in
  // their sums of squares exceeds lambda.
  const RidgeRows rows = with_integers(kernel, 3, 51, 26);
  const KernelRidge ridge = fitted(kernel, 1, 1000, rows, {12});
  const Reference truth(kernel, 1, rows);
  for (std::size_t i = 0; i < 12; i += 4) {
    const std::span context(rows.states.data() + 13 * i, 12);
    std::vector<double> mean(3);
    ridge.action_polynomials(context, 1, mean, {});
    CHECK(difference(at_largest(mean, 26), at_largest(truth.mean(context.data()), 26)) < 1e-6);
  }
}
