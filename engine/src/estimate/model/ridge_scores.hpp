/// RidgeScores: the linear functions of contexts by which a model tells actions apart.
#pragma once

#include <vector>

namespace scrm {

/// What models are that are linear in contexts; a policy that follows one has the same scores with the opposite sign.
class RidgeScores {
 public:
  virtual ~RidgeScores() = default;

  /// A row of (1, x) weights for each coefficient column, of all folds' models together: their mean.
  virtual std::vector<double> mean_theta() const = 0;
};

}  // namespace scrm
