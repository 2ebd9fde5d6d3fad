// labels: fast statistical
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "scrm/io/labelled/labelled_file.hpp"
#include "support/files.hpp"
#include "support/rows/labelled_problems.hpp"

using namespace scrm;
using namespace scrm_test;

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

/// Contexts of all training rows, in the order of batches, each once. The order depends on the seed alone.
std::vector<std::vector<double>> contexts(const BanditProblem& problem, const RunOptions& options) {
  std::vector<std::vector<double>> out;
  for (int b = 0; b < options.rollouts; ++b) {
    const std::vector<LabelledRow> rows = logged(problem, {problem.start(), false}, b);
    for (std::size_t i = 0; i < rows.size(); i += static_cast<std::size_t>(options.replays)) {
      out.push_back(rows[i].context);
    }
  }
  return out;
}

bool near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (!(std::abs(a[j] - b[j]) <= tolerance)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("labelled contexts: a random projection keeps inner products on average") {
  const LabelledData data = made_up_data(60, 150, 2);
  RunOptions options = few_rollouts(2);
  const auto whole = contexts(*labelled_problem(data, 3, options), options);
  options.projection = 100;
  const auto problem = labelled_problem(data, 3, options);
  CHECK(problem->schema().features == 100);
  CHECK_FALSE(problem->schema().sparse);
  const auto small = contexts(*problem, options);
  REQUIRE(small.size() == whole.size());
  double mean = 0, square = 0, pairs = 0;
  for (std::size_t i = 0; i < small.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      // Entries N(0, 1/width): the mean is the product itself, the variance (|x|²|y|² + (x·y)²)/width.
      const double exact = dot(whole[i], whole[j]);
      const double spread = std::sqrt((dot(whole[i], whole[i]) * dot(whole[j], whole[j]) + exact * exact) / 100);
      const double z = (dot(small[i], small[j]) - exact) / spread;
      CHECK(std::abs(z) < 6);
      mean += z;
      square += z * z;
      ++pairs;
    }
  }
  // 820 pairs of 40 rows go together; a mean over 40 independent ones would stray by 0.16.
  CHECK(std::abs(mean / pairs) < 0.5);
  CHECK(std::sqrt(square / pairs) == doctest::Approx(1).epsilon(0.25));
  // Another seed, another projection: the test rows' own contexts differ as well.
  CHECK(contexts(*labelled_problem(data, 4, options), options) != small);
}

TEST_CASE("labelled contexts: rows of length one, and rows without a number in them") {
  LabelledData data = made_up_data(60, 5, 2);
  for (const std::size_t row : {7, 20, 33, 59})
    std::fill_n(data.context.begin() + static_cast<std::ptrdiff_t>(row * 5), 5, 0.0);
  RunOptions options = few_rollouts(2);
  const auto plain = contexts(*labelled_problem(data, 3, options), options);
  for (const bool sparse : {false, true}) {
    const LabelledData form = sparse ? as_sparse(data) : data;
    // Said by the data set, or by the options, which count more.
    const auto scaled = contexts(*labelled_problem(form, 3, options, {0.0, true}), options);
    REQUIRE(scaled.size() == plain.size());
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      const double length = std::sqrt(dot(plain[i], plain[i]));
      if (length == 0) {
        CHECK(scaled[i] == plain[i]);
        continue;
      }
      CHECK(dot(scaled[i], scaled[i]) == doctest::Approx(1).epsilon(1e-14));
      CHECK(dot(scaled[i], plain[i]) == doctest::Approx(length).epsilon(1e-14));
    }
    RunOptions own = options;
    own.unit_length = false;
    CHECK(contexts(*labelled_problem(form, 3, own, {0.0, true}), options) == plain);
    own.unit_length = true;
    CHECK(contexts(*labelled_problem(form, 3, own), options) == scaled);
  }
}

TEST_CASE("labelled contexts: sparse data is the same problem as dense") {
  const LabelledData dense = made_up_data(400, 6, 3), sparse = as_sparse(dense);
  for (const std::int64_t projection : {0, 4}) {
    for (const bool unit : {false, true}) {
      RunOptions options = few_rollouts(3);
      options.projection = projection;
      options.unit_length = unit;
      const auto a = labelled_problem(dense, 5, options, {0.3, false}),
                 b = labelled_problem(sparse, 5, options, {0.3, false});
      CHECK(b->schema().sparse == (projection == 0));
      CHECK(near(a->first_policy(true).theta, b->first_policy(true).theta, 1e-5));
      const Policy policy = some_policy(*a, 7);
      CHECK(a->test_loss(policy) == doctest::Approx(b->test_loss(policy)).epsilon(1e-12));
      CHECK(a->test_loss(a->skyline()) == doctest::Approx(b->test_loss(b->skyline())).epsilon(1e-4));
      for (int batch = 0; batch < 3; ++batch) {
        const auto x = logged(*a, {policy, true}, batch), y = logged(*b, {policy, true}, batch);
        REQUIRE(x.size() == y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
          REQUIRE(near(x[i].context, y[i].context, 1e-14));
          REQUIRE(x[i].bits == y[i].bits);
          REQUIRE(x[i].loss == y[i].loss);
          REQUIRE(x[i].log_propensity == doctest::Approx(y[i].log_propensity).epsilon(1e-12));
        }
      }
    }
  }
}

TEST_CASE("labelled contexts: odd shapes log, test and have a skyline") {
  struct Shape {
    std::int64_t rows, features;
    int labels;
  };
  for (const Shape& shape : {Shape{3, 0, 1}, Shape{3, 1, 1}, Shape{3, 2, 5}, Shape{50, 0, 2}, Shape{50, 1, 1},
                             Shape{70, 3, 64}, Shape{40, 90, 2}}) {
    for (const bool sparse : {false, true}) {
      for (const Protocol protocol : {Protocol::paper, Protocol::published}) {
        CAPTURE(shape.rows);
        CAPTURE(shape.features);
        CAPTURE(shape.labels);
        CAPTURE(sparse);
        const LabelledData dense = made_up_data(shape.rows, shape.features, shape.labels);
        RunOptions options = few_rollouts(10);
        options.protocol = protocol;
        const auto problem = labelled_problem(sparse ? as_sparse(dense) : dense, 1, options);
        const Policy policy = some_policy(*problem, 2);
        std::int64_t rows = 0;
        for (int b = 0; b < 10; ++b) {
          const auto batch = logged(*problem, {policy, true}, b);
          CHECK(static_cast<std::int64_t>(batch.size()) == problem->shape().batch_rows(b));
          for (const LabelledRow& row : batch) {
            CHECK((row.loss >= 0 && row.loss <= 1));
            CHECK((std::isfinite(row.log_propensity) && row.log_propensity <= 0));
          }
          rows += problem->shape().batch_rows(b);
        }
        CHECK(rows == 4 * (shape.rows - static_cast<std::int64_t>(std::ceil(0.33 * static_cast<double>(shape.rows)))));
        for (const Policy& tested : {policy, problem->skyline(), *problem->constant_policy(true)}) {
          const double loss = problem->test_loss(tested);
          CHECK((loss >= 0.05 - 1e-12 && loss <= 0.95 + 1e-12));
        }
      }
    }
  }
}

TEST_CASE("labelled contexts: two rows are too few, and the message says so") {
  const auto data = std::make_shared<const LabelledData>(made_up_data(2, 3, 1));
  CHECK_THROWS_WITH_AS(make_labelled_factory(data, {}), doctest::Contains("2 rows are too few"), Error);
}

TEST_CASE("labelled contexts: a file of labelled data is the problem of what it holds") {
  const LabelledData data = made_up_data(90, 4, 2);
  const scrm::testing::Folder folder;
  const std::string path = folder / "own.h5";
  write_labelled(path, data);
  const auto from_file = make_problem_factory(path, "");
  const auto from_memory = make_labelled_factory(std::make_shared<const LabelledData>(data), {});
  CHECK(from_file.knows_right_actions);
  CHECK(from_file.action_kind == ActionKind::multilabel);
  CHECK(from_file.fingerprint == from_memory.fingerprint);
  const RunOptions options = few_rollouts(3);
  const auto a = from_file.make(1, options), b = from_memory.make(1, options);
  CHECK(logged(*a, {a->first_policy(true), false}, 2) == logged(*b, {b->first_policy(true), false}, 2));

  // One number, one bit or one habit that changes makes another environment.
  LabelledData other = data;
  other.context[5] = std::nextafter(other.context[5], 9.0);
  const auto print = [](const LabelledData& of, const LabelledTraits& traits = {}) {
    return make_labelled_factory(std::make_shared<const LabelledData>(of), traits).fingerprint;
  };
  CHECK(print(data, {0.5, false}) != print(data));
  CHECK(print(data, {0.0, true}) != print(data));
  CHECK(print(other) != print(data));
  other = data;
  other.label[7] ^= 1;
  CHECK(print(other) != print(data));
  // Entries that stand in other rows are other data, although the lists of entries are the same.
  LabelledData sparse = as_sparse(data);
  const std::string before = print(sparse);
  ++sparse.indptr[1];
  CHECK(print(sparse) != before);
}
