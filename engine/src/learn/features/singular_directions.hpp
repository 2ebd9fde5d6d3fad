/// SingularDirections: what the rows cannot tell apart, such as an intercept from levels of which every row has one.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "scrm/engine/learn/learn.hpp"

namespace scrm {

/// Directions of θ along which no row's score changes: features that never vary, and combinations of features that add
/// up to the same number in every row. Nothing in the rows says where along them θ lies, and a search leaves it
/// anywhere; rows to come that are of another kind (a level never seen before) then get whatever was left there.
class SingularDirections {
 public:
  /// Two passes over a sample of the rows that `training` keeps (null: all), and over all of them where the sample
  /// shows any. Features beyond a few hundred are looked at one by one only.
  static SingularDirections find(Source& source, const RowMask* training, const Policy& policy,
                                 const PassOptions& pass);

  bool empty() const { return constant_.empty() && basis_.size() == 0; }
  /// Those that are the same number in every row.
  const std::vector<std::int64_t>& constant_features() const { return constant_; }

  /// The θ that gives every row the same scores and lies nearest to `start`, by Σ_j E[x_j²] (θ_j − start_j)² over all
  /// but intercepts: of levels, the mean over rows goes to the intercept, so that a level that is none of them counts
  /// like their average.
  std::vector<double> nearest(std::vector<double> theta, const std::vector<double>& start) const;

 private:
  static SingularDirections among(Source& rows, const Policy& policy, const PassOptions& pass);

  Eigen::VectorXd means_, units_;  // of every feature; a unit is √E[x²]
  std::vector<std::int64_t> constant_, varying_;
  Eigen::MatrixXd basis_;  // orthonormal columns, in θ_j units_j of the features that vary
};

/// Moves policies that were found for a problem along these directions to where they lie nearest to its start. Those
/// that l2 holds stay.
void leave_singular_directions(Source& source, const ObjectiveProblem& problem, const SingularDirections& directions,
                               const LearnOptions& options, const PassOptions& pass, std::vector<LearnedPolicy>& found);

}  // namespace scrm
