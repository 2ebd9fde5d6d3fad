#include "estimate/model/cross_fitted_ridge.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "estimate/model/ridge_scores.hpp"
#include "policy/kinds/policy_kinds.hpp"
#include "scrm/kernels/scores/score_tile.hpp"

namespace scrm {
namespace {

constexpr std::size_t kColumnBytes = kBlockRows * sizeof(double);

/// What the two forms of the model share: linear functions of contexts, a matrix of them for each fold.
class CrossFittedRidge : public OutcomeModel, public RidgeScores {
 public:
  CrossFittedRidge(const Folds& folds, std::vector<ScoreMatrix> matrices, double penalty)
      : folds_(folds), matrices_(std::move(matrices)), penalty_(penalty) {}

  std::string name() const override { return "ridge"; }
  std::optional<double> penalty() const override { return penalty_; }
  int coefficient_columns() const override { return outputs(); }
  OutcomeCoefficients coefficients(const Block& block, PolicyScratch& scratch, double* out) const override {
    if (const std::optional<int> fold = folds_.of_block(block)) {
      matrix(*fold).scores(block, scratch, out);
      return {.columns = out};
    }
    const Folds::OfRows folds = folds_.of_rows(block);
    double* scores = scratch.columns(kModelScoresSlot, outputs());
    for (int fold = 0; fold < Folds::kCount; ++fold) {
      matrix(fold).scores(block, scratch, scores);
      for (int o = 0; o < outputs(); ++o) {
        for (int i = 0; i < block.rows; ++i) {
          if (folds[static_cast<std::size_t>(i)] == fold) out[cell(o, i)] = scores[cell(o, i)];
        }
      }
    }
    return {.columns = out};
  }

  std::vector<double> mean_theta() const override {
    std::vector<double> mean(matrices_.front().policy().theta.size());
    for (const ScoreMatrix& one : matrices_) {
      for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += one.policy().theta[j] / Folds::kCount;
    }
    return mean;
  }

 protected:
  int outputs() const { return matrices_.front().policy().outputs; }
  const ScoreMatrix& matrix(int fold) const { return matrices_[static_cast<std::size_t>(fold)]; }

  /// predict(fold, out) for rows [first, first + count) of a block, of which each is taken from its own fold.
  template <class Predict>
  void by_fold(const Block& block, const Folds::OfRows& folds, int first, int count, double* out,
               Predict predict) const {
    if (const std::optional<int> fold = folds_.of_block(block)) return predict(*fold, out);
    alignas(kColumnAlignment) double one[kBlockRows];
    const std::uint8_t* of_rows = folds.data() + first;
    for (int fold = 0; fold < Folds::kCount; ++fold) {
      predict(fold, one);
      for (int i = 0; i < count; ++i) {
        if (of_rows[i] == fold) out[i] = one[i];
      }
    }
  }

  Folds folds_;

 private:
  std::vector<ScoreMatrix> matrices_;  // of the folds, in the losses' own units
  double penalty_;
};

/// Continuous and multilabel actions: S₀(x) + Σ_o S_o(x) f_o, the factors f being a and a², or the bits as ±1. An
/// expectation over actions is one over factors.
class FactorRidge final : public CrossFittedRidge {
 public:
  FactorRidge(const Folds& folds, std::vector<ScoreMatrix> matrices, double penalty, ActionKind kind,
              const RidgeUnit& action)
      : CrossFittedRidge(folds, std::move(matrices), penalty), kind_(kind), action_(action) {}

  std::string inapplicable_reason(const TargetPolicy& policy) const override {
    if (policy.target_column())
      return "an expectation over its actions needs their probabilities, and a target column has that of the logged "
             "action alone; give it as model/NAME/target/TARGET";
    const bool continuous = kind_ == ActionKind::continuous;
    if (continuous ? policy.has_action_moments() : policy.has_label_probability()) return {};
    return continuous ? "mean and variance of its actions are not known"
                      : "its bits have no probabilities of their own";
  }

  bool is_linear_in_labels() const override { return kind_ == ActionKind::multilabel; }

  OutcomeCoefficients coefficients(const Block& block, PolicyScratch& scratch, double* out) const override {
    OutcomeCoefficients q = CrossFittedRidge::coefficients(block, scratch, out);
    q.centre = action_.centre;
    q.scale = action_.scale;
    return q;
  }

  void logged(const Block& block, PolicyScratch& scratch, double* out) const override {
    double* factors = scratch.columns(kModelFactorsSlot, outputs() - 1);
    if (kind_ == ActionKind::continuous) {
      for (int i = 0; i < block.rows; ++i) {
        factors[i] = action_.of(block.action[i]);
        factors[kBlockRows + i] = factors[i] * factors[i];
      }
    } else {
      for (std::int64_t k = 0; k < outputs() - 1; ++k) {
        for (int i = 0; i < block.rows; ++i) factors[k * kBlockRows + i] = 2.0 * block.bits[k * kBlockRows + i] - 1;
      }
    }
    combine(block, factors, scratch, out);
  }

  void expectation(const Block& block, const TargetPolicy& policy, PolicyScratch& scratch, double* out) const override {
    double* factors = scratch.columns(kModelFactorsSlot, outputs() - 1);
    if (kind_ == ActionKind::continuous) {
      double *mean = factors, *square = factors + kBlockRows;
      policy.action_moments(block, scratch, mean, square);
      for (int i = 0; i < block.rows; ++i) {
        mean[i] = action_.of(mean[i]);
        square[i] = mean[i] * mean[i] + square[i] / (action_.scale * action_.scale);
      }
    } else {
      policy.label_probability(block, scratch, factors);
      for (std::int64_t k = 0; k < outputs() - 1; ++k) {
        // That of the bit as it was logged, as the mean of ±1.
        for (int i = 0; i < block.rows; ++i) {
          double& factor = factors[k * kBlockRows + i];
          factor = (2.0 * block.bits[k * kBlockRows + i] - 1) * (2 * factor - 1);
        }
      }
    }
    combine(block, factors, scratch, out);
  }

  std::size_t scratch_bytes(const TargetPolicy&) const override {
    return (2 * static_cast<std::size_t>(outputs())) * kColumnBytes;
  }

 private:
  void combine(const Block& block, const double* factors, PolicyScratch& scratch, double* out) const {
    double* scores = scratch.columns(kModelScoresSlot, outputs());
    by_fold(block, folds_.of_rows(block), 0, block.rows, out, [&](int fold, double* one) {
      matrix(fold).scores(block, scratch, scores);
      std::copy_n(scores, block.rows, one);
      for (std::int64_t o = 1; o < outputs(); ++o) {
        for (int i = 0; i < block.rows; ++i) one[i] += scores[o * kBlockRows + i] * factors[(o - 1) * kBlockRows + i];
      }
    });
  }

  ActionKind kind_;
  RidgeUnit action_;
};

/// Categorical actions: one linear function for each, held within the losses of the rows it was fitted to. A context
/// far from these would else have predictions far from any loss, and estimates their variance.
class ActionRidge final : public CrossFittedRidge {
 public:
  /// `by_columns`: contexts do not lie there for each row by itself, so that logged actions are looked up among all.
  ActionRidge(const Folds& folds, std::vector<ScoreMatrix> matrices, double penalty, bool by_columns,
              const FoldRanges& ranges)
      : CrossFittedRidge(folds, std::move(matrices), penalty), by_columns_(by_columns), ranges_(ranges) {}

  std::string inapplicable_reason(const TargetPolicy& policy) const override {
    if (policy.has_action_probabilities()) return {};
    return "an expectation over its actions needs the probabilities of all of them, and a target column has that of "
           "the logged action alone; give it as model/NAME/target/TARGET";
  }

  void logged(const Block& block, PolicyScratch& scratch, double* out) const override {
    if (by_columns_) {
      const double* q = coefficients(block, scratch, scratch.columns(kModelFactorsSlot, outputs())).columns;
      const Folds::OfRows folds = folds_.of_rows(block);
      for (int i = 0; i < block.rows; ++i)
        out[i] = held(folds[static_cast<std::size_t>(i)], q[cell(block.category[i], i)]);
    } else if (block.context_type == FloatType::f32)
      predict_logged<float>(block, out);
    else
      predict_logged<double>(block, out);
  }

  OutcomeCoefficients coefficients(const Block& block, PolicyScratch& scratch, double* out) const override {
    const OutcomeCoefficients all = CrossFittedRidge::coefficients(block, scratch, out);
    const Folds::OfRows folds = folds_.of_rows(block);
    for (int k = 0; k < outputs(); ++k) {
      for (int i = 0; i < block.rows; ++i) out[cell(k, i)] = held(folds[static_cast<std::size_t>(i)], out[cell(k, i)]);
    }
    return all;
  }

  void expectation(const Block& block, const TargetPolicy& policy, PolicyScratch& scratch, double* out) const override {
    double* probabilities = scratch.columns(kModelScoresSlot, tile_columns());
    alignas(kColumnAlignment) double scores[kScoreTileActions * kScoreTileRows];
    const Folds::OfRows folds = folds_.of_rows(block);
    for (int first = 0; first < block.rows; first += kScoreTileRows) {
      const int rows = score_tile_rows(first, block.rows), valid = std::min(rows, block.rows - first);
      policy.action_probabilities(block, first, rows, probabilities);
      by_fold(block, folds, first, valid, out + first, [&](int fold, double* one) {
        std::fill_n(one, valid, 0.0);
        const auto [least, most] = ranges_[static_cast<std::size_t>(fold)];
        for (int action = 0; action < outputs(); action += kScoreTileActions) {
          const int count = std::min(kScoreTileActions, outputs() - action);
          matrix(fold).scores(block, {first, rows, action, count, scores, kScoreTileRows});
          for (int k = 0; k < count; ++k) {
            const double* weight = probabilities + static_cast<std::int64_t>(action + k) * kScoreTileRows;
            const double* own = scores + k * kScoreTileRows;
            for (int i = 0; i < valid; ++i) one[i] += weight[i] * std::min(std::max(own[i], least), most);
          }
        }
      });
    }
  }

  std::size_t scratch_bytes(const TargetPolicy&) const override {
    const std::size_t columns = by_columns_ ? 2 * static_cast<std::size_t>(outputs()) : 0;
    return (static_cast<std::size_t>(tile_columns()) + columns) * kColumnBytes;
  }

 private:
  bool by_columns_;
  FoldRanges ranges_;

  /// Columns of a block that hold a tile of all actions.
  std::int64_t tile_columns() const {
    constexpr std::int64_t kTilesOfColumn = kBlockRows / kScoreTileRows;
    return (outputs() + kTilesOfColumn - 1) / kTilesOfColumn;
  }

  template <class T>
  void predict_logged(const Block& block, double* out) const {
    const std::int64_t width = matrix(0).policy().row_length();
    const auto* context = static_cast<const T*>(block.context);
    std::array<const double*, kBlockRows> theta;
    const Folds::OfRows folds = folds_.of_rows(block);
    for (int i = 0; i < block.rows; ++i) {
      theta[static_cast<std::size_t>(i)] =
          matrix(folds[static_cast<std::size_t>(i)]).policy().theta.data() + block.category[i] * width;
      out[i] = theta[static_cast<std::size_t>(i)][0];
    }
    for (std::int64_t j = 0; j < block.features; ++j) {
      const T* column = context + j * kBlockRows;
      for (int i = 0; i < block.rows; ++i)
        out[i] += theta[static_cast<std::size_t>(i)][1 + j] * static_cast<double>(column[i]);
    }
    for (int i = 0; i < block.rows; ++i) out[i] = held(folds[static_cast<std::size_t>(i)], out[i]);
  }

  double held(int fold, double prediction) const {
    const LossRange& range = ranges_[static_cast<std::size_t>(fold)];
    return std::clamp(prediction, range.least, range.most);
  }
};

}  // namespace

std::shared_ptr<const OutcomeModel> cross_fitted_ridge(const RidgeShape& shape, const RidgeUnits& units,
                                                       const Folds& folds, std::vector<ScoreMatrix> matrices,
                                                       double penalty, bool by_columns, const FoldRanges& ranges) {
  if (shape.kind == ActionKind::categorical)
    return std::make_shared<ActionRidge>(folds, std::move(matrices), penalty, by_columns, ranges);
  return std::make_shared<FactorRidge>(folds, std::move(matrices), penalty, shape.kind, units.action);
}

}  // namespace scrm
