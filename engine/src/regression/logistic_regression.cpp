#include "scrm/engine/regression/logistic_regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pass/parallel_indices.hpp"
#include "regression/design_matrix.hpp"
#include "regression/logistic_newton.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

using Bits = std::vector<std::uint8_t>;

void check(const LabelledData& data, std::span<const std::int64_t> rows, std::span<const double> candidates) {
  if (rows.empty()) throw Error(ErrorKind::data, "no rows to fit a logistic regression on", {.file = data.name});
  if (candidates.empty()) throw Error(ErrorKind::usage, "no value of c to choose from: give at least one");
  for (const double c : candidates) {
    if (std::isfinite(c) && c > 0) continue;
    throw Error(ErrorKind::usage, fmt::format("c is {}: the inverse of a ridge's strength must be above zero", c));
  }
}

Bits label_column(const LabelledData& data, std::span<const std::int64_t> rows, int label) {
  Bits column;
  column.reserve(rows.size());
  for (const std::int64_t row : rows) {
    column.push_back(data.label[static_cast<std::size_t>(row * data.labels + label)] != 0);
  }
  return column;
}

struct ClassCounts {
  std::int64_t of[2] = {0, 0};
  bool single() const { return of[0] == 0 || of[1] == 0; }
  bool majority() const { return of[1] > of[0]; }
};

ClassCounts count(const Bits& label, const Bits& use) {
  ClassCounts classes;
  for (std::size_t i = 0; i < label.size(); ++i) classes.of[label[i]] += use[i];
  return classes;
}

LogisticModel fit_label(const DesignMatrix& x, const Bits& label, double c, const LogisticOptions& options) {
  const Bits use(label.size(), 1);
  LogisticModel model;
  model.c = c;
  const ClassCounts classes = count(label, use);
  if (classes.single()) {
    model.beta.assign(static_cast<std::size_t>(x.width()), 0.0);
    model.single_class = true;
    model.only_class = classes.majority();
    return model;
  }
  LogisticNewton newton(x, label, use);
  newton.solve(c, options.max_iterations, options.tolerance);
  model.beta = newton.beta();
  return model;
}

/// Rows of each class in turn, so that every fold has its share of both.
std::vector<int> assign_folds(const Bits& label, int folds) {
  std::vector<int> fold;
  int next[2] = {0, 0};
  for (const std::uint8_t bit : label) {
    fold.push_back(next[bit]);
    next[bit] = (next[bit] + 1) % folds;
  }
  return fold;
}

/// Held-out rows that each candidate, ascending, classifies correctly.
std::vector<std::int64_t> count_correct(const DesignMatrix& x, const Bits& label, const std::vector<int>& fold,
                                        int held, std::span<const double> ascending, const LogisticOptions& options) {
  Bits use(label.size());
  for (std::size_t i = 0; i < use.size(); ++i) use[i] = fold[i] != held;
  std::vector<std::int64_t> correct(ascending.size(), 0);
  const ClassCounts classes = count(label, use);
  if (classes.single()) {
    for (std::size_t i = 0; i < use.size(); ++i) {
      if (use[i] == 0 && (label[i] != 0) == classes.majority()) ++correct[0];
    }
    std::fill(correct.begin(), correct.end(), correct[0]);
    return correct;
  }
  LogisticNewton newton(x, label, use);
  for (std::size_t k = 0; k < ascending.size(); ++k) {
    newton.solve(ascending[k], options.max_iterations, options.tolerance);
    for (std::size_t i = 0; i < use.size(); ++i) {
      if (use[i] == 0 && (label[i] != 0) == (newton.scores()[i] > 0)) ++correct[k];
    }
  }
  return correct;
}

}  // namespace

std::vector<LogisticModel> fit_logistic(const LabelledData& data, std::span<const std::int64_t> rows,
                                        const LogisticOptions& options) {
  check(data, rows, std::span(&options.c, 1));
  const DesignMatrix x(data, rows);
  std::vector<LogisticModel> models(static_cast<std::size_t>(data.labels));
  parallel_indices(data.labels, [&](std::int64_t k) {
    models[static_cast<std::size_t>(k)] =
        fit_label(x, label_column(data, rows, static_cast<int>(k)), options.c, options);
  });
  return models;
}

std::vector<LogisticModel> fit_logistic_cv(const LabelledData& data, std::span<const std::int64_t> rows,
                                           std::span<const double> candidates, int folds,
                                           const LogisticOptions& options) {
  check(data, rows, candidates);
  if (folds < 2) throw Error(ErrorKind::usage, fmt::format("cross-validation needs at least 2 folds, not {}", folds));
  const DesignMatrix x(data, rows);
  // From the strongest ridge to the weakest, so that every fit starts near its end.
  std::vector<double> ascending(candidates.begin(), candidates.end());
  std::sort(ascending.begin(), ascending.end());
  std::vector<std::vector<std::int64_t>> correct(static_cast<std::size_t>(data.labels) *
                                                 static_cast<std::size_t>(folds));
  parallel_indices(data.labels * folds, [&](std::int64_t task) {
    const Bits label = label_column(data, rows, static_cast<int>(task / folds));
    correct[static_cast<std::size_t>(task)] =
        count_correct(x, label, assign_folds(label, folds), static_cast<int>(task % folds), ascending, options);
  });
  std::vector<LogisticModel> models(static_cast<std::size_t>(data.labels));
  parallel_indices(data.labels, [&](std::int64_t k) {
    std::vector<std::int64_t> total(ascending.size(), 0);
    for (int f = 0; f < folds; ++f) {
      const std::vector<std::int64_t>& part = correct[static_cast<std::size_t>(k * folds + f)];
      std::transform(total.begin(), total.end(), part.begin(), total.begin(), std::plus<>());
    }
    // The first of the best: among equals the strongest ridge.
    const auto best = std::max_element(total.begin(), total.end()) - total.begin();
    models[static_cast<std::size_t>(k)] =
        fit_label(x, label_column(data, rows, static_cast<int>(k)), ascending[static_cast<std::size_t>(best)], options);
  });
  return models;
}

}  // namespace scrm
