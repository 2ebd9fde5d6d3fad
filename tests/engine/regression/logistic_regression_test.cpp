// labels: slow threads
#include "scrm/engine/regression/logistic_regression.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "schedule/arena.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/io/file/error.hpp"

using namespace scrm;

namespace {

/// Labels drawn from a logistic model of the features; about a third of the entries are not zero.
LabelledData labelled_rows(std::int64_t rows, std::int64_t features, int labels, std::uint64_t seed) {
  limit_openblas_to_one_thread();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  LabelledData data;
  data.name = "random";
  data.rows = rows;
  data.features = features;
  data.labels = labels;
  std::vector<double> truth(static_cast<std::size_t>(labels * (1 + features)));
  for (double& t : truth) t = normal(random);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < features; ++j) data.context.push_back(uniform(random) < 0.35 ? normal(random) : 0.0);
    for (int k = 0; k < labels; ++k) {
      const double* beta = truth.data() + k * (1 + features);
      double score = beta[0];
      for (std::int64_t j = 0; j < features; ++j)
        score += beta[1 + j] * data.context[static_cast<std::size_t>(i * features + j)];
      data.label.push_back(uniform(random) < 1 / (1 + std::exp(-score)));
    }
  }
  return data;
}

LabelledData to_sparse(LabelledData data) {
  data.sparse = true;
  data.indptr = {0};
  for (std::size_t i = 0; i < data.context.size(); ++i) {
    if (data.context[i] != 0) {
      data.indices.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(i) % data.features));
      data.values.push_back(data.context[i]);
    }
    if (static_cast<std::int64_t>(i + 1) % data.features == 0)
      data.indptr.push_back(static_cast<std::int64_t>(data.indices.size()));
  }
  data.context.clear();
  return data;
}

std::vector<std::int64_t> all_rows(const LabelledData& data) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(data.rows));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

long double feature(const LabelledData& data, std::int64_t row, std::int64_t j) {
  return j == 0 ? 1.0L : data.context[static_cast<std::size_t>(row * data.features + j - 1)];
}

/// Gradient of [c Σ log-loss + |β|²/2]/(c n), entry by entry, in long double.
std::vector<long double> gradient(const LabelledData& data, const std::vector<std::int64_t>& rows, int label, double c,
                                  const std::vector<long double>& beta) {
  std::vector<long double> g(beta.size(), 0.0L);
  const auto n = static_cast<long double>(rows.size());
  for (const std::int64_t row : rows) {
    long double score = 0;
    for (std::size_t j = 0; j < beta.size(); ++j) score += beta[j] * feature(data, row, static_cast<std::int64_t>(j));
    const long double y = data.label[static_cast<std::size_t>(row * data.labels + label)];
    const long double residual = 1 / (1 + std::exp(-score)) - y;
    for (std::size_t j = 0; j < beta.size(); ++j)
      g[j] += residual * feature(data, row, static_cast<std::int64_t>(j)) / n;
  }
  for (std::size_t j = 1; j < beta.size(); ++j) g[j] += beta[j] / (static_cast<long double>(c) * n);
  return g;
}

long double largest(const std::vector<long double>& values) {
  long double most = 0;
  for (const long double v : values) most = std::max(most, std::abs(v));
  return most;
}

long double slope_left(const LabelledData& data, const std::vector<std::int64_t>& rows, int label,
                       const LogisticModel& model) {
  return largest(gradient(data, rows, label, model.c, {model.beta.begin(), model.beta.end()}));
}

/// Newton's method with a Hessian by differences of the gradient, a step halved while the gradient grows.
std::vector<long double> reference_fit(const LabelledData& data, const std::vector<std::int64_t>& rows, int label,
                                       double c) {
  const std::size_t d = static_cast<std::size_t>(data.features) + 1;
  std::vector<long double> beta(d, 0.0L);
  for (int iteration = 0; iteration < 200; ++iteration) {
    const std::vector<long double> g = gradient(data, rows, label, c, beta);
    if (largest(g) < 1e-16L) break;
    std::vector<std::vector<long double>> h(d, std::vector<long double>(d + 1));
    for (std::size_t j = 0; j < d; ++j) {
      constexpr long double kStep = 1e-6L;
      std::vector<long double> low = beta, high = beta;
      low[j] -= kStep;
      high[j] += kStep;
      const auto a = gradient(data, rows, label, c, low), b = gradient(data, rows, label, c, high);
      for (std::size_t i = 0; i < d; ++i) h[i][j] = (b[i] - a[i]) / (2 * kStep);
      h[j][d] = g[j];
    }
    for (std::size_t p = 0; p < d; ++p) {
      for (std::size_t i = p + 1; i < d; ++i) {
        const long double factor = h[i][p] / h[p][p];
        for (std::size_t k = p; k <= d; ++k) h[i][k] -= factor * h[p][k];
      }
    }
    std::vector<long double> step(d);
    for (std::size_t p = d; p-- > 0;) {
      step[p] = h[p][d];
      for (std::size_t k = p + 1; k < d; ++k) step[p] -= h[p][k] * step[k];
      step[p] /= h[p][p];
    }
    for (long double t = 1; t > 1e-6L; t /= 2) {
      std::vector<long double> next = beta;
      for (std::size_t j = 0; j < d; ++j) next[j] -= t * step[j];
      if (largest(gradient(data, rows, label, c, next)) < largest(g)) {
        beta = next;
        break;
      }
    }
  }
  return beta;
}

LogisticOptions tight(double c) {
  return {.c = c, .max_iterations = 1000, .tolerance = 1e-13};
}

}  // namespace

TEST_CASE("logistic: coefficients are those of a long double Newton, dense and sparse, weak ridge and strong") {
  const LabelledData data = labelled_rows(60, 4, 2, 1), sparse = to_sparse(data);
  const std::vector<std::int64_t> rows = all_rows(data);
  for (const double c : {1e-4, 0.1, 1.0, 1e3}) {
    const auto dense_models = fit_logistic(data, rows, tight(c)), sparse_models = fit_logistic(sparse, rows, tight(c));
    for (int k = 0; k < data.labels; ++k) {
      const std::vector<long double> truth = reference_fit(data, rows, k, c);
      REQUIRE(dense_models[static_cast<std::size_t>(k)].beta.size() == truth.size());
      for (std::size_t j = 0; j < truth.size(); ++j) {
        const auto expected = doctest::Approx(static_cast<double>(truth[j])).epsilon(1e-8).scale(1e-2);
        CHECK(dense_models[static_cast<std::size_t>(k)].beta[j] == expected);
        CHECK(sparse_models[static_cast<std::size_t>(k)].beta[j] == expected);
      }
    }
  }
}

TEST_CASE("logistic: no gradient is left at the solution, whatever the shape") {
  struct Shape {
    std::int64_t rows, features;
  };
  for (const Shape shape : {Shape{80, 294}, Shape{300, 17}, Shape{30, 2000}, Shape{700, 1}, Shape{1300, 1100}}) {
    const LabelledData data = labelled_rows(shape.rows, shape.features, 3, 7), sparse = to_sparse(data);
    const std::vector<std::int64_t> rows = all_rows(data);
    for (const double c : {1e-2, 1.0, 1e4}) {
      const LogisticOptions options{.c = c, .max_iterations = 1000, .tolerance = 1e-6};
      const auto dense_models = fit_logistic(data, rows, options), sparse_models = fit_logistic(sparse, rows, options);
      for (int k = 0; k < data.labels; ++k) {
        CAPTURE(shape.rows);
        CAPTURE(shape.features);
        CAPTURE(c);
        CHECK(slope_left(data, rows, k, dense_models[static_cast<std::size_t>(k)]) < 1.01e-6L);
        CHECK(slope_left(data, rows, k, sparse_models[static_cast<std::size_t>(k)]) < 1.01e-6L);
      }
    }
  }
}

TEST_CASE("logistic: only the rows asked for count, as often as they are asked for") {
  const LabelledData data = labelled_rows(50, 3, 1, 3);
  const std::vector<std::int64_t> some = {4, 9, 9, 9, 12, 13, 20, 21, 22, 23, 31, 40, 41, 44, 48};
  const auto models = fit_logistic(data, some, tight(2.0));
  REQUIRE_FALSE(models[0].single_class);
  CHECK(slope_left(data, some, 0, models[0]) < 1e-12L);
}

TEST_CASE("logistic: a label with one class is marked and not fitted") {
  LabelledData data = labelled_rows(20, 2, 2, 5);
  for (std::size_t i = 0; i < 20; ++i) data.label[2 * i + 1] = 1;
  const auto models = fit_logistic(data, all_rows(data), {});
  CHECK_FALSE(models[0].single_class);
  CHECK(models[1].single_class);
  CHECK(models[1].only_class);
  CHECK(models[1].beta == std::vector<double>(3, 0.0));
  const auto one_row = fit_logistic(data, std::vector<std::int64_t>{7}, {});
  CHECK(one_row[0].single_class);
  CHECK(one_row[0].only_class == (data.label[14] != 0));
}

TEST_CASE("logistic: without features the intercept is the log odds") {
  LabelledData data = labelled_rows(10, 0, 1, 1);
  data.label = {1, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  for (const bool sparse : {false, true}) {
    data.sparse = sparse;
    data.indptr.assign(11, 0);
    const auto models = fit_logistic(data, all_rows(data), tight(1.0));
    REQUIRE(models[0].beta.size() == 1);
    CHECK(models[0].beta[0] == doctest::Approx(std::log(3.0 / 7.0)).epsilon(1e-10));
  }
}

TEST_CASE("logistic: separable rows give a finite answer that separates them") {
  LabelledData data;
  data.rows = 40;
  data.features = 1;
  data.labels = 1;
  for (int i = 0; i < 40; ++i) {
    data.context.push_back(i < 20 ? -1.0 - i : 100.0 + i);
    data.label.push_back(i >= 20);
  }
  for (const double c : {1.0, 1e4, 1e8}) {
    const auto models = fit_logistic(data, all_rows(data), tight(c));
    CHECK(slope_left(data, all_rows(data), 0, models[0]) < 1e-11L);
    for (int i = 0; i < 40; ++i) {
      const double score = models[0].beta[0] + models[0].beta[1] * data.context[static_cast<std::size_t>(i)];
      CHECK((score > 0) == (i >= 20));
    }
  }
}

TEST_CASE("logistic: cross-validation chooses the c that separate fits choose") {
  const LabelledData data = labelled_rows(90, 12, 3, 11);
  const std::vector<std::int64_t> rows = all_rows(data);
  const std::vector<double> candidates = {10, 1e-4, 1e-2, 1, 1e3};
  LogisticOptions options = tight(1.0);
  const auto models = fit_logistic_cv(data, rows, candidates, 5, options);
  for (int k = 0; k < data.labels; ++k) {
    double best_c = 0;
    int best = -1;
    std::vector<double> ascending = candidates;
    std::sort(ascending.begin(), ascending.end());
    for (const double c : ascending) {
      int right = 0;
      for (int held = 0; held < 5; ++held) {
        std::vector<std::int64_t> in, out;
        int seen[2] = {0, 0};
        for (const std::int64_t row : rows) {
          const int bit = data.label[static_cast<std::size_t>(row * data.labels + k)];
          (seen[bit]++ % 5 == held ? out : in).push_back(row);
        }
        options.c = c;
        const auto fold = fit_logistic(data, in, options);
        for (const std::int64_t row : out) {
          double score = 0;
          for (std::int64_t j = 0; j <= data.features; ++j)
            score += fold[static_cast<std::size_t>(k)].beta[static_cast<std::size_t>(j)] *
                     static_cast<double>(feature(data, row, j));
          right += (score > 0) == (data.label[static_cast<std::size_t>(row * data.labels + k)] != 0);
        }
      }
      if (right > best) {
        best = right;
        best_c = c;
      }
    }
    CHECK(models[static_cast<std::size_t>(k)].c == best_c);
    CHECK(slope_left(data, rows, k, models[static_cast<std::size_t>(k)]) < 1e-12L);
  }
}

TEST_CASE("logistic: cross-validation copes with fewer rows of a class than folds") {
  LabelledData data = labelled_rows(12, 2, 2, 2);
  for (std::size_t i = 0; i < 12; ++i) {
    data.label[2 * i] = i == 3;
    data.label[2 * i + 1] = 0;
  }
  const auto models = fit_logistic_cv(data, all_rows(data), std::vector<double>{0.1, 1}, 5, {});
  CHECK_FALSE(models[0].single_class);
  CHECK(models[1].single_class);
  CHECK_FALSE(models[1].only_class);
}

TEST_CASE("logistic: the same bits on 1, 2 and 5 threads") {
  const LabelledData data = labelled_rows(200, 30, 6, 13), sparse = to_sparse(data);
  const std::vector<double> candidates = {1e-2, 1, 100};
  std::vector<std::vector<double>> first;
  for (const int threads : {1, 2, 5}) {
    std::vector<std::vector<double>> found;
    in_arena(threads, [&] {
      for (const auto* d : {&data, &sparse}) {
        for (const auto& model : fit_logistic_cv(*d, all_rows(*d), candidates, 4, {})) found.push_back(model.beta);
      }
    });
    if (first.empty()) first = found;
    CHECK(found == first);
  }
}

TEST_CASE("logistic: what makes no sense is refused by name") {
  LabelledData data = labelled_rows(10, 2, 1, 1);
  const std::vector<std::int64_t> rows = all_rows(data);
  CHECK_THROWS_WITH_AS(fit_logistic(data, {}, {}), doctest::Contains("random: no rows to fit a logistic regression on"),
                       Error);
  CHECK_THROWS_WITH_AS(fit_logistic(data, rows, {.c = 0}), doctest::Contains("c is 0"), Error);
  CHECK_THROWS_WITH_AS(fit_logistic_cv(data, rows, {}, 5, {}), doctest::Contains("no value of c to choose from"),
                       Error);
  CHECK_THROWS_WITH_AS(fit_logistic_cv(data, rows, std::vector<double>{1}, 1, {}),
                       doctest::Contains("cross-validation needs at least 2 folds, not 1"), Error);
  CHECK_THROWS_WITH_AS(fit_logistic(data, std::vector<std::int64_t>{10}, {}), doctest::Contains("row 10"), Error);
  LabelledData huge = data;
  for (double& x : huge.context) x *= 1e200;
  CHECK_THROWS_WITH_AS(fit_logistic(huge, rows, {}), doctest::Contains("scale them"), Error);
  data.context[7] = NAN;
  CHECK_THROWS_WITH_AS(fit_logistic(data, rows, {}), doctest::Contains("row 3: feature 1 is nan"), Error);
}
