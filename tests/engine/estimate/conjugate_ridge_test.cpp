// labels: fast threads
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <memory>
#include <vector>

#include "estimate/model/folds.hpp"
#include "estimate/model/ridge_shape.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "support/rows/replayed_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr int kReplays = 4;

/// Losses that are linear in what actions count for, with noise that rows of a context share.
LoggedRows linear_rows(ActionKind kind, std::int64_t contexts, std::int64_t features, int actions, std::uint64_t seed) {
  Schema schema;
  schema.action_kind = kind;
  schema.features = features;
  schema.num_actions = actions;
  LoggedRows rows = replayed_rows(schema, contexts * kReplays, kReplays, seed);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    double loss = 0.3 * rows.loss[static_cast<std::size_t>(i / kReplays * kReplays)];
    for (int k = 0; k < actions; ++k) {
      const double x = LoggedRows::cell(rows.context, i, k % features, features);
      if (kind == ActionKind::multilabel)
        loss += (LoggedRows::cell(rows.bits, i, k, actions) != 0 ? 1 : -1) * (0.2 + x) / actions;
      else
        loss += rows.category[static_cast<std::size_t>(i)] == k ? x - 0.1 * k : 0;
    }
    rows.loss[static_cast<std::size_t>(i)] = loss;
  }
  return rows;
}

double factor(const LoggedRows& rows, std::int64_t i, int output) {
  if (rows.schema.action_kind == ActionKind::categorical)
    return rows.category[static_cast<std::size_t>(i)] == output ? 1 : 0;
  if (output == 0) return 1;
  return LoggedRows::cell(rows.bits, i, output - 1, rows.schema.num_actions) != 0 ? 1 : -1;
}

/// The weights of rows outside fold 0 by normal equations, as raw coefficients of (1, x) for each output.
Eigen::MatrixXd dense_ridge(MemorySource& source, const LoggedRows& rows, double penalty, bool common) {
  const RidgeUnits units = first_units(source);
  const std::int64_t d = rows.schema.features, width = d + 1;
  const int outputs = rows.schema.num_actions + (rows.schema.action_kind == ActionKind::multilabel ? 1 : 0);
  double square = 0;
  for (const RidgeUnit& unit : units.features) square += unit.scale * unit.scale / static_cast<double>(d);
  const auto scale = [&](std::int64_t j) {
    return common ? std::sqrt(square) : units.features[static_cast<std::size_t>(j)].scale;
  };
  const Folds folds(source);
  const std::unique_ptr<BlockLoader> loader = source.make_loader();
  const std::unique_ptr<BlockGroup> group = source.fetch(0, 1);
  Audit audit;
  const Folds::OfRows of_rows = folds.of_rows(source.load(*group, 0, *loader, audit));
  Eigen::MatrixXd gram = penalty * Eigen::MatrixXd::Identity(outputs * width, outputs * width);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(outputs * width);
  double mean = 0, count = 0;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    if (of_rows[static_cast<std::size_t>(i)] == 0) continue;
    mean += rows.loss[static_cast<std::size_t>(i)];
    count += 1;
  }
  mean /= count;
  for (std::int64_t first = 0; first < rows.rows; first += kReplays) {
    if (of_rows[static_cast<std::size_t>(first)] == 0) continue;
    Eigen::MatrixXd phi(outputs * width, kReplays), f(outputs, kReplays);
    Eigen::VectorXd y(kReplays);
    for (int r = 0; r < kReplays; ++r) {
      y[r] = rows.loss[static_cast<std::size_t>(first + r)] - mean;
      for (int o = 0; o < outputs; ++o) {
        f(o, r) = factor(rows, first + r, o);
        phi(o * width, r) = 10 * f(o, r);
        for (std::int64_t j = 0; j < d; ++j) {
          const double x = LoggedRows::cell(rows.context, first, j, d);
          phi(o * width + 1 + j, r) = f(o, r) * (x - units.features[static_cast<std::size_t>(j)].centre) / scale(j);
        }
      }
    }
    const double unit = rows.schema.action_kind == ActionKind::categorical ? 1 : outputs;
    const Eigen::MatrixXd noise = (f.transpose() * f + 0.5 * Eigen::MatrixXd::Identity(kReplays, kReplays)) / unit;
    const Eigen::MatrixXd inverse = noise.inverse();
    gram += phi * inverse * phi.transpose();
    right += phi * inverse * y;
  }
  const Eigen::VectorXd psi = gram.ldlt().solve(right);
  Eigen::MatrixXd theta(width, outputs);
  for (int o = 0; o < outputs; ++o) {
    theta(0, o) = 10 * psi[o * width];
    for (std::int64_t j = 0; j < d; ++j) {
      theta(1 + j, o) = psi[o * width + 1 + j] / scale(j);
      theta(0, o) -= theta(1 + j, o) * units.features[static_cast<std::size_t>(j)].centre;
    }
    if (o == 0 || rows.schema.action_kind == ActionKind::categorical) theta(0, o) += mean;
  }
  return theta;
}

/// Coefficient columns of the first block.
std::vector<double> columns_of(MemorySource& source, const OutcomeModel& model) {
  PolicyScratch scratch;
  double* out = scratch.columns(PolicyScratch::kCallerSlot, model.coefficient_columns());
  const std::unique_ptr<BlockLoader> loader = source.make_loader();
  const std::unique_ptr<BlockGroup> group = source.fetch(0, 1);
  Audit audit;
  model.coefficients(source.load(*group, 0, *loader, audit), scratch, out);
  return {out, out + static_cast<std::ptrdiff_t>(model.coefficient_columns()) * kBlockRows};
}

}  // namespace

TEST_CASE("conjugate ridge: rows that share contexts get what generalised least squares on the other folds says") {
  for (const ActionKind kind : {ActionKind::multilabel, ActionKind::categorical}) {
    const LoggedRows rows = linear_rows(kind, 300, 5, 3, 3);
    MemorySource source = shared_source(rows, kReplays);
    const auto model = fit_ridge_model(source, {}, {});
    const std::vector<double> q = columns_of(source, *model);
    const Folds folds(source);
    const std::unique_ptr<BlockLoader> loader = source.make_loader();
    const std::unique_ptr<BlockGroup> group = source.fetch(0, 1);
    Audit audit;
    const Folds::OfRows of_rows = folds.of_rows(source.load(*group, 0, *loader, audit));
    double closest = 1e300;
    for (const bool common : {false, true}) {
      const Eigen::MatrixXd theta = dense_ridge(source, rows, *model->penalty(), common);
      double worst = 0;
      for (std::int64_t i = 0; i < rows.rows; ++i) {
        if (of_rows[static_cast<std::size_t>(i)] != 0) continue;
        for (int o = 0; o < model->coefficient_columns(); ++o) {
          double score = theta(0, o);
          for (std::int64_t j = 0; j < 5; ++j) score += theta(1 + j, o) * LoggedRows::cell(rows.context, i, j, 5);
          worst = std::max(worst,
                           std::abs(score - q[static_cast<std::size_t>(o) * kBlockRows + static_cast<std::size_t>(i)]));
        }
      }
      closest = std::min(closest, worst);
    }
    CHECK(closest < 1e-2);  // the search ends at a thousandth of the right-hand side; coefficients are near one
  }
}

TEST_CASE("conjugate ridge: rows of one context fall into one fold, and rows left out are not learned from") {
  LoggedRows rows = linear_rows(ActionKind::multilabel, 200, 3, 2, 5);
  MemorySource source = shared_source(rows, kReplays);
  RowMask mask(rows.rows, false);
  for (std::int64_t i = 0; i < rows.rows / 2; ++i) mask.set(i);
  const auto before =
      columns_of(source, *fit_ridge_model(source, {.skip_bad_rows = false, .rows = &mask, .cross_fitted = true}, {}));
  for (std::int64_t i = rows.rows / 2; i < rows.rows; ++i) rows.loss[static_cast<std::size_t>(i)] += 100;
  MemorySource other = shared_source(rows, kReplays);
  const auto after =
      columns_of(other, *fit_ridge_model(other, {.skip_bad_rows = false, .rows = &mask, .cross_fitted = true}, {}));
  for (std::int64_t i = 0; i < rows.rows; ++i)
    CHECK(before[static_cast<std::size_t>(i)] == doctest::Approx(after[static_cast<std::size_t>(i)]));
  const Folds folds(source);
  const std::unique_ptr<BlockLoader> loader = source.make_loader();
  const std::unique_ptr<BlockGroup> group = source.fetch(0, 1);
  Audit audit;
  const Folds::OfRows of_rows = folds.of_rows(source.load(*group, 0, *loader, audit));
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.rows); ++i)
    CHECK(of_rows[i] == of_rows[i / kReplays * kReplays]);
}

TEST_CASE("conjugate ridge: the same bits on any number of threads, and features in any units") {
  LoggedRows rows = linear_rows(ActionKind::multilabel, 1500, 4, 3, 7);
  MemorySource source = shared_source(rows, kReplays);
  const auto one = columns_of(source, *fit_ridge_model(source, {}, {.threads = 1, .memory = 0, .progress = {}}));
  const auto many = columns_of(source, *fit_ridge_model(source, {}, {.threads = 7, .memory = 0, .progress = {}}));
  CHECK(one == many);
  // Each feature in a unit of its own: predictions are as good.
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      double& x = rows.context[static_cast<std::size_t>(i) * 4 + j];
      x = 50 + x * std::pow(10.0, static_cast<double>(j) - 2);
    }
  }
  MemorySource scaled = shared_source(rows, kReplays);
  const auto other = columns_of(scaled, *fit_ridge_model(scaled, {}, {}));
  for (std::size_t i = 0; i < kBlockRows; ++i)
    CHECK(other[kBlockRows + i] == doctest::Approx(one[kBlockRows + i]).epsilon(0.05));
}

TEST_CASE("conjugate ridge: losses of a fold change nothing of what its rows are predicted by, the penalty included") {
  for (const ActionKind kind : {ActionKind::multilabel, ActionKind::categorical}) {
    LoggedRows rows = linear_rows(kind, 300, 5, 3, 3);
    // A feature that says nothing and is large: units of their own are better by far, whatever the losses of a fold.
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows.rows); ++i) rows.context[5 * i + 4] *= 100;
    MemorySource source = shared_source(rows, kReplays);
    const Folds folds(source);
    const std::unique_ptr<BlockLoader> loader = source.make_loader();
    const std::unique_ptr<BlockGroup> group = source.fetch(0, 1);
    Audit audit;
    const Folds::OfRows of_rows = folds.of_rows(source.load(*group, 0, *loader, audit));
    const auto model = fit_ridge_model(source, {}, {});
    const std::vector<double> before = columns_of(source, *model);
    constexpr int kFold = 3;
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      // Noise that no model predicts: had the fold a say, its penalty would be large.
      if (of_rows[static_cast<std::size_t>(i)] == kFold)
        rows.loss[static_cast<std::size_t>(i)] = std::sin(static_cast<double>(i * i)) * 2;
    }
    MemorySource changed = shared_source(rows, kReplays);
    const auto other = fit_ridge_model(changed, {}, {});
    const std::vector<double> after = columns_of(changed, *other);
    int same = 0, different = 0;
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      for (std::int64_t o = 0; o < model->coefficient_columns(); ++o) {
        const auto at = static_cast<std::size_t>(o * kBlockRows + i);
        if (of_rows[static_cast<std::size_t>(i)] == kFold) {
          CHECK(after[at] == before[at]);
          ++same;
        } else {
          different += after[at] != before[at] ? 1 : 0;
        }
      }
    }
    CHECK(same > 0);
    CHECK(different > 0);
  }
}
