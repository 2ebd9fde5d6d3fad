#include "estimate/model/ridge_equations.hpp"

#include <cblas.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/kinds/policy_kinds.hpp"
#include "regression/dense_algebra.hpp"
#include "scrm/kernels/scores/context_matrix.hpp"

namespace scrm {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Features of rows that are multiplied together: a quarter of a small second-level cache.
constexpr std::int64_t kPanelDoubles = 16384;
constexpr std::int64_t kMostRows = 256, kFewestRows = 8;
// Up to this many features and the loss, a call of BLAS costs more than the products themselves.
constexpr std::int64_t kSmallSide = 32;

// Penalties, in rows that say zero. What is best lies within: a tenth of a decade more or less changes little.
constexpr double kLeastRidge = 1e-2;
constexpr int kRidges = 9;

// How many rows of the mean loss an intercept is worth: an action that was never logged gets that mean.
constexpr double kInterceptRows = 1;

/// One equation of one fold, symmetric.
MatrixXd products_of(const RidgeSums::Fold& fold, std::int64_t side, int at) {
  if (fold.products.empty()) return MatrixXd::Zero(side, side);
  const Eigen::Map<const MatrixXd> lower(fold.products.data() + static_cast<std::int64_t>(at) * side * side, side,
                                         side);
  return lower.selfadjointView<Eigen::Lower>();
}

/// Sums of all folds but those that are left out, two of them or twice the same.
struct Rest {
  MatrixXd products;
  double mean = 0;  ///< loss
};

/// Nothing is left out with Folds::kNone.
Rest rest_of(const RidgeShape& shape, const RidgeSums& sums, int at, int left_out, int also) {
  const std::int64_t side = shape.width() + 1;
  Rest out{MatrixXd::Zero(side, side)};
  double rows = 0, loss = 0;
  for (int other = 0; other < Folds::kCount; ++other) {
    if (other == left_out || other == also) continue;
    const RidgeSums::Fold& one = sums.folds[static_cast<std::size_t>(other)];
    out.products += products_of(one, side, at);
    rows += one.rows;
    loss += one.loss;
  }
  out.mean = rows > 0 ? loss / rows : 0;
  return out;
}

/// (ΦᵀΦ + λI) w = Φᵀ(y − mean), with the mean added to w's intercept. False where rounding leaves no solution.
bool solve(const Rest& rest, double penalty, bool parallel, VectorXd& weights) {
  const std::int64_t width = rest.products.rows() - 1;
  MatrixXd factor = rest.products.topLeftCorner(width, width);
  weights = rest.products.col(width).head(width) - rest.mean * factor.col(0);
  factor.diagonal().array() += penalty;
  factor(0, 0) += kInterceptRows - penalty;
  if (!(parallel ? parallel_cholesky(factor) : cholesky(factor))) return false;
  solve_cholesky(factor, weights);
  weights[0] += rest.mean;
  return weights.allFinite();
}

/// Squared error on the held-out rows: v'Av with v = (w, −1).
double held_error(const MatrixXd& held, const VectorXd& weights) {
  VectorXd v(weights.size() + 1);
  v << weights, -1.0;
  return v.dot(held * v);
}

double ridge_at(int step) {
  return kLeastRidge * std::pow(10.0, step);
}

/// That of the least error, the larger of equals.
double best_penalty(const std::array<double, kRidges>& errors) {
  const auto best = std::min_element(errors.rbegin(), errors.rend());
  return ridge_at(static_cast<int>(errors.rend() - best) - 1);
}

/// The penalty of each fold: the one whose fits without that fold and one other predict that other best. A penalty that
/// was chosen by the rows it is used on would be small where their actions were not logged, and large where they were:
/// predictions would know of the actions that they are to be independent of.
std::array<double, Folds::kCount> choose_penalties(const RidgeShape& shape, const RidgeSums& sums, int at,
                                                   bool parallel) {
  const std::int64_t side = shape.width() + 1;
  std::array<std::array<double, kRidges>, Folds::kCount> errors{};
  VectorXd weights;
  for (int one = 0; one < Folds::kCount; ++one) {
    const MatrixXd held_one = products_of(sums.folds[static_cast<std::size_t>(one)], side, at);
    for (int other = one + 1; other < Folds::kCount; ++other) {
      const MatrixXd held_other = products_of(sums.folds[static_cast<std::size_t>(other)], side, at);
      const Rest rest = rest_of(shape, sums, at, one, other);
      for (int step = 0; step < kRidges; ++step) {
        const bool solved = solve(rest, ridge_at(step), parallel, weights);
        const auto add = [&](int fold, const MatrixXd& held) {
          errors[static_cast<std::size_t>(fold)][static_cast<std::size_t>(step)] +=
              solved ? held_error(held, weights) : std::numeric_limits<double>::infinity();
        };
        add(one, held_other);
        add(other, held_one);
      }
    }
  }
  std::array<double, Folds::kCount> out;
  for (std::size_t fold = 0; fold < out.size(); ++fold) out[fold] = best_penalty(errors[fold]);
  return out;
}

/// One penalty for all folds, by the errors of fits without each: for those who predict by a fit of all rows.
std::array<double, Folds::kCount> choose_penalty(const RidgeShape& shape, const RidgeSums& sums, int at,
                                                 bool parallel) {
  std::array<double, kRidges> errors{};
  VectorXd weights;
  for (int fold = 0; fold < Folds::kCount; ++fold) {
    const MatrixXd held = products_of(sums.folds[static_cast<std::size_t>(fold)], shape.width() + 1, at);
    const Rest rest = rest_of(shape, sums, at, fold, fold);
    for (int step = 0; step < kRidges; ++step) {
      errors[static_cast<std::size_t>(step)] += solve(rest, ridge_at(step), parallel, weights)
                                                    ? held_error(held, weights)
                                                    : std::numeric_limits<double>::infinity();
    }
  }
  std::array<double, Folds::kCount> out;
  out.fill(best_penalty(errors));
  return out;
}

/// Counts, losses and their ranges by fold; no products yet.
void set_totals(const Block& block, const Folds::OfRows& folds, const std::uint8_t* keep, const RidgeUnit& unit,
                RidgeSums& sums) {
  for (RidgeSums::Fold& fold : sums.folds) {
    fold.products.clear();
    fold.rows = fold.loss = 0;
    fold.range = {};
  }
  for (int fold = 0; fold < Folds::kCount; ++fold) {
    // Most blocks are of one fold.
    if (std::find(folds.begin(), folds.begin() + block.rows, fold) == folds.begin() + block.rows) continue;
    double count = 0, loss = 0;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    double least = kInfinity, most = -kInfinity;
    for (int i = 0; i < block.rows; ++i) {
      const bool here = keep[i] != 0 && folds[static_cast<std::size_t>(i)] == fold;
      const double y = block.loss[i];
      count += here ? 1 : 0;
      loss += here ? y - unit.centre : 0;
      least = here && y < least ? y : least;
      most = here && y > most ? y : most;
    }
    if (count == 0) continue;
    sums.folds[static_cast<std::size_t>(fold)].rows = count;
    sums.folds[static_cast<std::size_t>(fold)].loss = loss / unit.scale;
    sums.folds[static_cast<std::size_t>(fold)].range = {least, most};
  }
}

}  // namespace

void RidgeSums::transfer(ByteStream& bytes) {
  for (Fold& fold : folds) {
    scrm::transfer(bytes, fold.products);
    scrm::transfer(bytes, fold.rows);
    scrm::transfer(bytes, fold.loss);
    scrm::transfer(bytes, fold.range.least);
    scrm::transfer(bytes, fold.range.most);
  }
}

bool RidgeReduction::is_small() const noexcept {
  return shape_.width() + 1 <= kSmallSide;
}

int RidgeReduction::rows_at_once() const noexcept {
  if (is_small()) return kBlockRows;
  return static_cast<int>(std::clamp(kPanelDoubles / (shape_.width() + 1), kFewestRows, kMostRows));
}

ReductionBytes RidgeReduction::bytes() const {
  const auto side = static_cast<std::size_t>(shape_.width() + 1);
  ReductionBytes bytes;
  bytes.partial = Folds::kCount * static_cast<std::size_t>(count_) * side * side * sizeof(double);
  bytes.scratch = (static_cast<std::size_t>(rows_at_once()) * side + (is_small() ? side * side : 0)) * sizeof(double) +
                  (Folds::kCount * static_cast<std::size_t>(count_) + kBlockRows) * sizeof(int);
  bytes.help = memory_help_;
  return bytes;
}

/// Rows by fold and equation; those of (fold, equation) are [begins[k], begins[k + 1]), k = fold · count + equation.
void RidgeReduction::sort_rows(const Block& block, const Folds::OfRows& folds, const std::uint8_t* keep,
                               Scratch& scratch) const {
  const auto keys = Folds::kCount * static_cast<std::size_t>(count_);
  scratch.begins.assign(keys + 1, 0);
  scratch.rows.resize(kBlockRows);
  std::array<int, kBlockRows> key;  // −1: of another equation
  for (int i = 0; i < block.rows; ++i) {
    const int equation = (shape_.kind == ActionKind::categorical ? block.category[i] : 0) - first_;
    const bool here = keep[i] != 0 && equation >= 0 && equation < count_;
    key[static_cast<std::size_t>(i)] = here ? folds[static_cast<std::size_t>(i)] * count_ + equation : -1;
    if (here) ++scratch.begins[static_cast<std::size_t>(key[static_cast<std::size_t>(i)]) + 1];
  }
  for (std::size_t k = 1; k <= keys; ++k) scratch.begins[k] += scratch.begins[k - 1];
  // Filled from each end, so that in the end `begins` is where each begins.
  std::vector<int>& ends = scratch.ends;
  ends.assign(scratch.begins.begin(), scratch.begins.end() - 1);
  for (int i = 0; i < block.rows; ++i) {
    const int k = key[static_cast<std::size_t>(i)];
    if (k >= 0) scratch.rows[static_cast<std::size_t>(ends[static_cast<std::size_t>(k)]++)] = i;
  }
}

void RidgeReduction::add_products(const Block& block, const int* rows, int count, Scratch& scratch,
                                  double* products) const {
  const int side = static_cast<int>(shape_.width() + 1);
  if (!is_small()) {
    scratch.features.resize(static_cast<std::size_t>(rows_at_once()) * static_cast<std::size_t>(side));
    ridge_rows(block, shape_, units_, rows, count, scratch.features.data());
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, side, count, 1.0, scratch.features.data(), side, 1.0, products,
                side);
    return;
  }
  double* columns = scratch.columns.columns(PolicyScratch::kCallerSlot, side);
  ridge_columns(block, shape_, units_, rows, count, columns);
  const int whole = round_up_to_vectors(count);
  for (int c = 0; c < side; ++c) std::fill(columns + cell(c, count), columns + cell(c, whole), 0.0);
  scratch.products.resize(static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
  context_products({columns, FloatType::f64, kBlockRows, side, whole}, columns, side, scratch.products.data(), side);
  for (std::size_t i = 0; i < scratch.products.size(); ++i) products[i] += scratch.products[i];
}

void RidgeReduction::compute(const Block& block, Partial& out) const {
  RidgeSums& sums = static_cast<Sums&>(out).sums;
  const Folds::OfRows folds = folds_.of_rows(block);
  std::array<std::uint8_t, kBlockRows> keep;
  keep.fill(1);
  if (mask_ != nullptr) mask_->expand(block.first_row, kBlockRows, keep.data());
  set_totals(block, folds, keep.data(), units_.loss, sums);
  const Pool<Scratch>::Lease scratch = scratch_.lease();
  sort_rows(block, folds, keep.data(), *scratch);
  const int most = rows_at_once();
  const auto square = static_cast<std::size_t>((shape_.width() + 1) * (shape_.width() + 1));
  for (int k = 0; k < Folds::kCount * count_; ++k) {
    const int end = scratch->begins[static_cast<std::size_t>(k) + 1];
    std::vector<double>& products = sums.folds[static_cast<std::size_t>(k / count_)].products;
    for (int first = scratch->begins[static_cast<std::size_t>(k)]; first < end; first += most) {
      if (products.empty()) products.assign(static_cast<std::size_t>(count_) * square, 0.0);
      add_products(block, scratch->rows.data() + first, std::min(most, end - first), *scratch,
                   products.data() + static_cast<std::size_t>(k % count_) * square);
    }
  }
}

void RidgeReduction::merge(Partial& earlier, const Partial& later) const {
  RidgeSums& into = static_cast<Sums&>(earlier).sums;
  const RidgeSums& from = static_cast<const Sums&>(later).sums;
  for (std::size_t f = 0; f < into.folds.size(); ++f) {
    RidgeSums::Fold& fold = into.folds[f];
    fold.rows += from.folds[f].rows;
    fold.loss += from.folds[f].loss;
    fold.range.add(from.folds[f].range);
    const std::vector<double>& products = from.folds[f].products;
    if (fold.products.empty()) {
      fold.products = products;
      continue;
    }
    for (std::size_t i = 0; i < products.size(); ++i) fold.products[i] += products[i];
  }
}

RidgeSolution solve_ridge(const RidgeShape& shape, const RidgeSums& sums, int at, bool cross_fitted, bool parallel) {
  const std::int64_t width = shape.width();
  std::array<double, Folds::kCount> penalties =
      (cross_fitted ? choose_penalties : choose_penalty)(shape, sums, at, parallel);
  RidgeSolution out;
  out.weights.assign(Folds::kCount * static_cast<std::size_t>(width), 0.0);
  VectorXd weights;
  for (int fold = 0; fold < Folds::kCount; ++fold) {
    if (fold > 0 && !cross_fitted) {
      std::copy_n(out.weights.data(), width, out.weights.data() + fold * width);
      continue;
    }
    const int left_out = cross_fitted ? fold : Folds::kNone;
    const Rest rest = rest_of(shape, sums, at, left_out, left_out);
    // Where nothing can be solved for, the mean is predicted.
    if (!solve(rest, penalties[static_cast<std::size_t>(fold)], parallel, weights))
      weights = VectorXd::Unit(width, 0) * rest.mean;
    std::copy_n(weights.data(), width, out.weights.data() + fold * width);
  }
  std::nth_element(penalties.begin(), penalties.begin() + Folds::kCount / 2, penalties.end());
  out.penalty = penalties[Folds::kCount / 2];
  return out;
}

std::size_t solve_ridge_bytes(const RidgeShape& shape) {
  const auto side = static_cast<std::size_t>(shape.width() + 1);
  return 5 * side * side * sizeof(double);  // two folds, the rest, the factor, and one fold on its way
}

}  // namespace scrm
