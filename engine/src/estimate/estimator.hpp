/// What an estimator is: a name, when it applies, and what it makes of the sums of a pass.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/target_policy.hpp"
#include "scrm/io/schema.hpp"
#include "scrm/kernels/moments.hpp"
#include "scrm/kernels/weight_sums.hpp"

namespace scrm {

/// All that a pass knows about one policy, over all rows.
struct PolicyTotals {
  double rows = 0;
  Moments loss;                  ///< y
  Moments weight;                ///< w
  Moments ips;                   ///< w y
  Moments clipped;               ///< min(w, M) y
  Moments ix;                    ///< w y / (1 + α w)
  SquareWeightedMoments square;  ///< w² and y
  AdditiveSums additive;         ///< y + (y − c) S and S; only where the estimator applies
  double clip = 0;
  double alpha = 0;
};

/// Sums of one bootstrap replicate (or of one group of rows), in plain units.
struct ReplicateTotals {
  double rows = 0, loss = 0;
  double weight = 0, ips = 0, clipped = 0, ix = 0;
  double additive_u = 0, additive_s = 0;
};

/// An estimate before its interval. Where value is not defined, `undefined_reason` says why in words.
struct PointEstimate {
  double value = 0;
  double standard_error = 0;
  double range = 0;  ///< of the averaged terms (an upper bound where one pass cannot give it exactly), for bernstein
  std::optional<double> parameter;
  std::string undefined_reason;
};

/// One estimator; each has a file of its own, estimator_NAME.cpp, and a line in estimators.cpp.
struct Estimator {
  const char* name;
  /// Why it does not apply to this data and policy; empty when it does.
  std::string (*inapplicable_reason)(const Schema& schema, const TargetPolicy& policy);
  PointEstimate (*point)(const PolicyTotals& totals);
  double (*replicate)(const ReplicateTotals& totals);
};

extern const Estimator kIpsEstimator;
extern const Estimator kClippedEstimator;
extern const Estimator kSnipsEstimator;
extern const Estimator kIpsIxEstimator;
extern const Estimator kAdditiveEstimator;

/// Every estimator, in the order of reports.
const std::vector<const Estimator*>& all_estimators();

/// Value, standard error and range of an average of terms with these moments.
PointEstimate mean_estimate(const Moments& terms);

/// For estimators that apply to all data.
std::string always_applicable(const Schema& schema, const TargetPolicy& policy);

}  // namespace scrm
