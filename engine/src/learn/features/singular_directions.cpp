#include "learn/features/singular_directions.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "learn/features/feature_moments.hpp"
#include "pass/source/sampled_source.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"

namespace scrm {
namespace {

// Correlations cost features² a row, once; an evaluation costs features a row, dozens of times.
constexpr std::int64_t kMaxCorrelated = 256;
// Beyond this many, means and spreads of every block would cost more memory than they are worth.
constexpr std::int64_t kMaxExamined = 1 << 16;
// Where there are as many blocks, a sample of them says whether there is anything to look for.
constexpr std::int64_t kManyBlocks = 128;
// Of the mean square, what rounding alone makes of the spread of a feature that never varies.
constexpr double kConstantShare = 1e-24;
// Of the variance of one feature, what rounding alone leaves of a combination that never varies.
constexpr double kNoVariance = 1e-12;
// Rows whose features are written out together.
constexpr int kRowsTogether = 256;

/// Features of consecutive rows of a block, a column each, less their means and by their spreads; those that vary.
class StandardizedFeatures {
 public:
  StandardizedFeatures(const FeatureMoments& moments, const std::vector<std::int64_t>& varying)
      : varying_(varying), place_(static_cast<std::size_t>(moments.mean.size()), -1) {
    for (std::size_t k = 0; k < varying.size(); ++k) {
      const std::int64_t j = varying[k];
      place_[static_cast<std::size_t>(j)] = static_cast<Eigen::Index>(k);
      means_.push_back(moments.mean[j]);
      spreads_.push_back(std::sqrt(moments.square_sum[j] / moments.rows));
    }
  }

  Eigen::Index count() const { return std::ssize(varying_); }

  void of_rows(const Block& block, int first, Eigen::MatrixXd& out) const {
    if (block.sparse.indptr != nullptr) {
      out.setZero();
      for (int i = 0; i < out.rows(); ++i) {
        for (std::int64_t e = block.sparse.indptr[first + i]; e < block.sparse.indptr[first + i + 1]; ++e) {
          const Eigen::Index k = place_[static_cast<std::size_t>(block.sparse.indices[e])];
          if (k >= 0) out(i, k) += block.sparse.values[e];
        }
      }
    } else {
      for (Eigen::Index k = 0; k < count(); ++k)
        mapped_context(block, varying_[static_cast<std::size_t>(k)], 1, out.col(k).data(), first,
                       static_cast<int>(out.rows()));
    }
    for (Eigen::Index k = 0; k < count(); ++k) {
      const auto at = static_cast<std::size_t>(k);
      out.col(k) = (out.col(k).array() - means_[at]) / spreads_[at];
    }
  }

 private:
  const std::vector<std::int64_t>& varying_;
  std::vector<Eigen::Index> place_;  // of each feature among those that vary, or -1
  std::vector<double> means_, spreads_;
};

/// The lower half of the correlations of features.
Eigen::MatrixXd correlations(Source& rows, const StandardizedFeatures& features, double count,
                             const PassOptions& pass) {
  const auto compute = [&features](const Block& block, Eigen::MatrixXd& out) {
    out.setZero();
    for (int first = 0; first < block.rows; first += kRowsTogether) {
      Eigen::MatrixXd some(std::min(kRowsTogether, block.rows - first), features.count());
      features.of_rows(block, first, some);
      out.selfadjointView<Eigen::Lower>().rankUpdate(some.transpose());
    }
  };
  const auto merge = [](Eigen::MatrixXd& a, const Eigen::MatrixXd& b) { a += b; };
  const Eigen::MatrixXd none = Eigen::MatrixXd::Zero(features.count(), features.count());
  return run_pass(rows, none, compute, merge, pass).first / count;
}

}  // namespace

SingularDirections SingularDirections::among(Source& rows, const Policy& policy, const PassOptions& pass) {
  SingularDirections out;
  const std::int64_t features = mapped_features(policy.features, rows.schema().features);
  const FeatureMoments moments = feature_moments(rows, features, pass);
  if (moments.rows < 2) return out;
  out.means_ = moments.mean;
  const Eigen::ArrayXd variance = moments.square_sum.array() / moments.rows;
  out.units_ = (moments.mean.array().square() + variance).sqrt();
  for (double& unit : out.units_) unit = unit > 0 && std::isfinite(unit) ? unit : 1;  // all zeros
  for (std::int64_t j = 0; j < features; ++j) {
    const bool varies = variance[j] > kConstantShare * moments.mean[j] * moments.mean[j];
    (varies ? out.varying_ : out.constant_).push_back(j);
  }
  const auto varying = std::ssize(out.varying_);
  if (varying < 2 || varying > kMaxCorrelated || !variance.allFinite()) return out;
  const StandardizedFeatures standardized(moments, out.varying_);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(correlations(rows, standardized, moments.rows, pass));
  if (solver.info() != Eigen::Success) return out;
  // Ascending.
  const Eigen::Index null = (solver.eigenvalues().array() < kNoVariance).count();
  if (null == 0) return out;
  Eigen::MatrixXd directions = solver.eigenvectors().leftCols(null);
  for (Eigen::Index k = 0; k < varying; ++k) {
    const std::int64_t j = out.varying_[static_cast<std::size_t>(k)];
    directions.row(k) *= out.units_[j] / std::sqrt(variance[j]);
  }
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(directions);
  out.basis_ = qr.householderQ() * Eigen::MatrixXd::Identity(varying, null);
  return out;
}

SingularDirections SingularDirections::find(Source& source, const RowMask* training, const Policy& policy,
                                            const PassOptions& pass) {
  const Schema& schema = source.schema();
  const std::int64_t features = mapped_features(policy.features, schema.features);
  const bool linear = policy.features == FeatureMap::linear;
  // Rows that share contexts cannot be left out one by one.
  if (features == 0 || features > kMaxExamined || policy.theta.empty() || (schema.sparse && !linear) ||
      schema.replays > 1) {
    return {};
  }
  std::optional<MaskedSource> masked;
  if (training != nullptr) masked.emplace(source, *training);
  Source& rows = masked ? static_cast<Source&>(*masked) : source;
  if (source.blocks() >= kManyBlocks) {
    SampledSource sample(rows);
    if (among(sample, policy, pass).empty()) return {};
  }
  return among(rows, policy, pass);
}

std::vector<double> SingularDirections::nearest(std::vector<double> theta, const std::vector<double>& start) const {
  const Eigen::Index width = means_.size() + 1;
  for (Eigen::Index first = 0; first + width <= std::ssize(theta); first += width) {
    double* row = theta.data() + first;
    const double* from = start.data() + first;
    for (const std::int64_t j : constant_) {
      row[0] += means_[j] * (row[1 + j] - from[1 + j]);
      row[1 + j] = from[1 + j];
    }
    if (basis_.size() == 0) continue;
    Eigen::VectorXd moved(basis_.rows());
    for (Eigen::Index k = 0; k < moved.size(); ++k) {
      const std::int64_t j = varying_[static_cast<std::size_t>(k)];
      moved[k] = (row[1 + j] - from[1 + j]) * units_[j];
    }
    const Eigen::VectorXd idle = basis_ * (basis_.transpose() * moved);
    for (Eigen::Index k = 0; k < moved.size(); ++k) {
      const std::int64_t j = varying_[static_cast<std::size_t>(k)];
      row[1 + j] -= idle[k] / units_[j];
      row[0] += means_[j] * (idle[k] / units_[j]);
    }
  }
  return theta;
}

void leave_singular_directions(Source& source, const ObjectiveProblem& problem, const SingularDirections& directions,
                               const LearnOptions& options, const PassOptions& pass,
                               std::vector<LearnedPolicy>& found) {
  constexpr double kSame = 1e-7;
  std::vector<ObjectiveProblem> moved;
  std::vector<LearnedPolicy*> whose;
  for (LearnedPolicy& one : found) {
    std::vector<double> theta = directions.nearest(one.policy.theta, problem.policy.theta);
    if (one.l2 > 0 || theta == one.policy.theta) continue;
    ObjectiveProblem& at = moved.emplace_back(problem);
    at.policy = one.policy;
    at.policy.theta = std::move(theta);
    at.rules.lambda = one.lambda;
    at.rules.l2 = one.l2;
    whose.push_back(&one);
  }
  if (moved.empty()) return;
  std::vector<ObjectiveValue> values = evaluate_objectives(source, moved, pass, options.skip_bad_rows);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    LearnedPolicy& one = *whose[i];
    // Nothing but rounding has changed; where more has, the directions were not quite singular.
    if (!(values[i].objective <= one.value.objective + kSame * (1 + std::abs(one.value.objective)))) continue;
    one.search.point = moved[i].policy.theta;
    one.policy = std::move(moved[i].policy);
    one.value = std::move(values[i]);
  }
}

}  // namespace scrm
