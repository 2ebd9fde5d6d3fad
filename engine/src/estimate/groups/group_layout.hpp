/// GroupLayout: which sums are kept of a group of rows, and where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "estimate/difference.hpp"
#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {

/// What the chosen estimators need beside the sums of weights.
struct ExtraTerms {
  bool labels = false;                  ///< those of the additive estimator
  bool smoothed = false;                ///< those of logarithmic smoothing
  std::vector<const Estimator*> given;  ///< the estimators with WeightTransform::given: a column t(w) y each
  bool model = false;                   ///< those of estimators that a model assists
  std::vector<const Estimator*> tuned;  ///< those of them that are tuned: a column for each scale
  std::vector<double> scales;           ///< the grid, ascending

  void add(const Estimator& estimator);
  std::size_t index(const Estimator& estimator) const;
  std::size_t tuned_index(const Estimator& estimator) const;
  /// Columns of all tuned estimators.
  std::size_t tuned_columns() const noexcept { return tuned.size() * scales.size(); }
};

/// An estimate of a policy, or of its difference to a baseline.
struct EstimateColumn {
  std::size_t policy = 0;
  const Estimator* estimator = nullptr;
  Baseline baseline = {};  ///< whose value is taken off
};

/// The row of sums that a group of rows has: those of all policies, then those of each.
class GroupLayout {
 public:
  // Shared by all policies.
  static constexpr std::size_t kRows = 0, kLoss = 1, kShared = 2;
  // Of a policy, from policy(p) on: w, w y, min(w, M) y, w_ix y; with labels y + y S and S; then the given terms;
  // with a model q_π, w (y − q) and q_π + (y − q) (1 + S), then the tuned terms, those of each estimator by scale.
  static constexpr std::size_t kWeight = 0, kWeightedLoss = 1, kClipped = 2, kIx = 3, kOwn = 4;

  GroupLayout(std::size_t policies, const ExtraTerms& extra);

  std::size_t policies() const noexcept { return policies_; }
  const ExtraTerms& extra() const noexcept { return extra_; }
  std::size_t width() const noexcept { return kShared + policies_ * policy_width_; }
  std::size_t policy(std::size_t p) const noexcept { return kShared + p * policy_width_; }
  /// Policies, counted as often as their sums are as many as those of a policy without a model.
  std::size_t load() const noexcept { return policies_ * (extra_.model ? policy_width_ / model() : 1); }
  /// Of the given terms, within a policy.
  std::size_t given(std::size_t g) const noexcept { return kOwn + (extra_.labels ? 2 : 0) + g; }
  /// Of the model's three columns, and of the tuned terms, within a policy.
  std::size_t model() const noexcept { return given(extra_.given.size()); }
  std::size_t tuned(std::size_t t, std::size_t scale) const noexcept {
    return model() + 3 + t * extra_.scales.size() + scale;
  }

  /// Which scale a tuned estimator has for a policy: the largest until it is chosen.
  std::size_t chosen_scale(std::size_t p, std::size_t t) const { return chosen_[p * extra_.tuned.size() + t]; }
  void choose_scale(std::size_t p, std::size_t t, std::size_t scale) { chosen_[p * extra_.tuned.size() + t] = scale; }

  ReplicateTotals totals(const double* sums, std::size_t p, const Estimator& estimator) const;
  /// What the estimate is for these sums.
  double value(const double* sums, const EstimateColumn& column) const;
  /// Of the sums that an estimator is the mean of, within a policy.
  std::size_t terms_column(std::size_t p, const Estimator& estimator) const;

 private:
  std::size_t policies_;
  ExtraTerms extra_;
  std::size_t policy_width_;
  std::vector<std::size_t> chosen_;  // [policies, tuned]
};

/// Sums of all groups: [groups, layout.width()].
struct GroupTable {
  GroupLayout layout;
  std::int64_t groups = 0;
  std::vector<double> sums;

  std::vector<double> totals() const;
  const double* group(std::int64_t g) const { return sums.data() + static_cast<std::size_t>(g) * layout.width(); }
};

}  // namespace scrm
