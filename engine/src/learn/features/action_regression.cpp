#include "scrm/engine/learn/action_regression.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <memory>

#include "pass/pass_plan.hpp"
#include "pass/source/sampled_source.hpp"
#include "ranks/eigen_bytes.hpp"
#include "regression/dense_algebra.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/engine/ranks/ranks.hpp"
#include "scrm/kernels/scores/scores.hpp"

namespace scrm {
namespace {

// Products cost features² a row, once; an evaluation costs features a row, dozens of times.
constexpr std::int64_t kMostRegressors = 1024;
// With as many blocks, or fewer and as many features, a sample says whether contexts explain the actions at all.
constexpr std::int64_t kBlocksToSample = 128, kWideBlocksToSample = 16, kWide = 256;
// Rows beyond the parameters, however few these are: with fewer, chance explains much.
constexpr double kSpareRows = 10;

/// Means of features and, last, of the centres of actions; and the lower triangle of their products around these.
struct JointMoments final : Reduction::Partial {
  explicit JointMoments(Eigen::Index side)
      : mean(Eigen::VectorXd::Zero(side)), products(Eigen::MatrixXd::Zero(side, side)) {}

  void clear() {
    rows = 0;
    mean.setZero();
    products.setZero();
  }
  /// What means of other rows change, whose own products are added by the caller.
  void merge_means(double other_rows, const Eigen::VectorXd& other_mean) {
    const double total = rows + other_rows;
    if (total == 0) return;
    const Eigen::VectorXd delta = other_mean - mean;
    mean += delta * (other_rows / total);
    products.selfadjointView<Eigen::Lower>().rankUpdate(delta, rows * (other_rows / total));
    rows = total;
  }

  double rows = 0;
  Eigen::VectorXd mean;
  Eigen::MatrixXd products;
};

/// The first features of consecutive rows of a block, a column each.
void write_features(const Block& block, int first, Eigen::Ref<Eigen::MatrixXd> out) {
  if (block.sparse.indptr == nullptr)
    return mapped_context(block, 0, out.cols(), out.data(), first, static_cast<int>(out.rows()));
  out.setZero();
  for (int i = 0; i < out.rows(); ++i) {
    for (std::int64_t e = block.sparse.indptr[first + i]; e < block.sparse.indptr[first + i + 1]; ++e)
      if (block.sparse.indices[e] < out.cols()) out(i, block.sparse.indices[e]) += block.sparse.values[e];
  }
}

class JointMomentsReduction final : public SizedReduction {
 public:
  JointMomentsReduction(double (*centre)(double), std::int64_t features) : centre_(centre), side_(features + 1) {}

  ReductionBytes bytes() const override {
    const auto side = static_cast<std::size_t>(side_);
    ReductionBytes bytes;
    bytes.partial = (side * side + side) * sizeof(double);
    bytes.scratch = (kRowsAtOnce * side + 2 * side) * sizeof(double);
    return bytes;
  }
  std::unique_ptr<Partial> make() const override { return std::make_unique<JointMoments>(side_); }

  void compute(const Block& block, Partial& out) const override {
    auto& sums = static_cast<JointMoments&>(out);
    sums.clear();
    for (int first = 0; first < block.rows; first += kRowsAtOnce) {
      Eigen::MatrixXd some(std::min(kRowsAtOnce, block.rows - first), side_);
      write_features(block, first, some.leftCols(side_ - 1));
      Eigen::Index kept = 0;
      for (Eigen::Index i = 0; i < some.rows(); ++i) {
        const double centre = centre_(block.action[first + i]);
        if (!std::isfinite(centre)) continue;
        if (kept < i) some.row(kept) = some.row(i).eval();
        some(kept++, side_ - 1) = centre;
      }
      if (kept == 0) continue;
      auto rows = some.topRows(kept);
      const Eigen::VectorXd mean = rows.colwise().mean();
      rows.rowwise() -= mean.transpose();
      add_gram(rows.transpose(), sums.products);
      sums.merge_means(static_cast<double>(kept), mean);
    }
  }
  void merge(Partial& earlier, const Partial& later) const override {
    auto& into = static_cast<JointMoments&>(earlier);
    const auto& from = static_cast<const JointMoments&>(later);
    into.products += from.products;
    into.merge_means(from.rows, from.mean);
  }
  void transfer(Partial& sums, ByteStream& bytes) const override {
    auto& moments = static_cast<JointMoments&>(sums);
    scrm::transfer(bytes, moments.rows);
    scrm::transfer(bytes, moments.mean);
    scrm::transfer(bytes, moments.products);
  }

 private:
  static constexpr int kRowsAtOnce = 256;

  double (*centre_)(double);
  Eigen::Index side_;
};

/// Units of features by which a ridge treats them alike: √E[x²], so that what levels of which every row has one share
/// is left to the intercept. Of a feature far from zero, less: else the ridge would bend it. Zero where it never
/// varies.
Eigen::VectorXd ridge_units(const JointMoments& moments) {
  // Of the mean square, what rounding alone makes of the spread of a feature that never varies.
  constexpr double kConstant = 1e-24;
  constexpr double kMostSquare = 1e3;  // in variances
  const Eigen::Index features = moments.mean.size() - 1;
  Eigen::VectorXd units(features);
  for (Eigen::Index j = 0; j < features; ++j) {
    const double square = moments.mean[j] * moments.mean[j], variance = moments.products(j, j) / moments.rows;
    units[j] = variance > kConstant * square ? std::sqrt(std::min(variance + square, kMostSquare * variance)) : 0;
  }
  return units;
}

/// Nothing where too few rows or rounding leave no regression.
std::optional<ActionRegression> solve(const JointMoments& moments) {
  // Added to the mean squares of features of unit size: enough that copies of each other do no harm.
  constexpr double kNegligible = 1e-9;
  const Eigen::Index features = moments.mean.size() - 1;
  const Eigen::VectorXd units = ridge_units(moments);
  const auto parameters = static_cast<double>(1 + (units.array() > 0).count());
  const double spare = moments.rows - parameters;
  if (!(spare >= std::max(parameters, kSpareRows))) return std::nullopt;
  const Eigen::VectorXd inverse = units.unaryExpr([](double unit) { return unit > 0 ? 1 / unit : 0.0; });
  Eigen::MatrixXd matrix = moments.products.topLeftCorner(features, features) / moments.rows;
  matrix = inverse.asDiagonal() * matrix * inverse.asDiagonal();
  const Eigen::VectorXd moment =
      inverse.cwiseProduct(moments.products.row(features).head(features).transpose()) / moments.rows;
  Eigen::VectorXd weights = moment;
  Eigen::MatrixXd factor = matrix;
  factor.diagonal().array() += kNegligible;
  if (!matrix.allFinite() || !moment.allFinite() || !cholesky(factor)) return std::nullopt;
  solve_cholesky(factor, weights);
  const double variance = moments.products(features, features) / moments.rows;
  const double left = variance - weights.dot(2 * moment - matrix.selfadjointView<Eigen::Lower>() * weights);
  ActionRegression out;
  out.spread = std::sqrt(variance * moments.rows / (moments.rows - 1));
  out.residual_spread = std::sqrt(std::max(0.0, left) * moments.rows / spare);
  const Eigen::VectorXd slope = weights.cwiseProduct(inverse);
  out.theta.push_back(moments.mean[features] - slope.dot(moments.mean.head(features)));
  out.theta.insert(out.theta.end(), slope.begin(), slope.end());
  if (!std::all_of(out.theta.begin(), out.theta.end(), [](double theta) { return std::isfinite(theta); })) return {};
  return out;
}

std::optional<ActionRegression> explaining(Source& rows, const JointMomentsReduction& reduction,
                                           const PassOptions& pass) {
  const PassResult result = run_pass(rows, reduction, pass);
  if (!result.sums) return std::nullopt;
  std::optional<ActionRegression> out = solve(static_cast<const JointMoments&>(*result.sums));
  return out && out->explains_most() ? out : std::nullopt;
}

bool is_worth_a_sample(const Source& rows, std::int64_t features) {
  return rows.blocks() >= (features < kWide ? kBlocksToSample : kWideBlocksToSample);
}

/// Whatever the number of threads, so that it decides nothing.
bool fits(const Source& source, const JointMomentsReduction& reduction, const PassOptions& pass) {
  const bool ranked = pass.ranks != nullptr && !pass.ranks->alone();
  const ReductionBytes bytes = reduction.bytes();
  return pass.memory == 0 || pass_bytes(source, bytes, {1, 1, ranked}) + 2 * bytes.partial <= pass.memory;
}

}  // namespace

std::optional<ActionRegression> explaining_regression(Source& source, const PolicyKindDefinition& kind,
                                                      std::int64_t features, const RowMask* training,
                                                      const PassOptions& pass) {
  const bool continuous = kind.centre != nullptr && source.schema().action_kind == ActionKind::continuous;
  if (!continuous || source.schema().replays > 1 || features < 1 || features > kMostRegressors) return std::nullopt;
  const JointMomentsReduction reduction(kind.centre, features);
  std::optional<MaskedSource> masked;
  if (training != nullptr) masked.emplace(source, *training);
  Source& rows = masked ? static_cast<Source&>(*masked) : source;
  if (!fits(rows, reduction, pass)) return std::nullopt;
  if (is_worth_a_sample(rows, features)) {
    SampledSource sample(rows);
    if (!explaining(sample, reduction, pass)) return std::nullopt;
  }
  return explaining(rows, reduction, pass);
}

}  // namespace scrm
