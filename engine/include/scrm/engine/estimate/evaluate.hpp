/// evaluate: what each of many policies would have cost, by every estimator, from one pass over the logs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/interval.hpp"
#include "scrm/engine/estimate/outcome_model.hpp"
#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/io/shard/audit.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

/// How the parameters of `switch-dr` and `dros` are chosen.
enum class Tuning : std::uint8_t {
  mse,   ///< the least bound of the mean squared error: cautious about bias
  slope  ///< the least variance whose estimates agree with those of all larger ones
};

struct EvaluateOptions {
  std::vector<std::string> estimators;  ///< empty: all that apply
  std::optional<double> clip;           ///< M; unset: the fifth-largest weight
  std::optional<double> alpha;          ///< α, and λ of `ls`; unset: 1 / rows, and the λ of the least bound
  std::shared_ptr<const OutcomeModel> model = {};  ///< null: no estimators that need one
  Tuning tuning = Tuning::mse;
  IntervalKind interval = IntervalKind::automatic;
  double level = 0.95;
  /// What is known of losses and weights, for intervals that need bounds. Without a range that of the losses seen is
  /// taken, without a largest weight there is none.
  std::optional<OutcomeRange> outcome_range;
  std::optional<double> max_weight;
  std::uint64_t seed = 0;  ///< of the bootstrap
  int replicates = 1000;
  bool skip_bad_rows = false;
  /// What each policy is compared with: kLoggedBaseline, the name of one of the policies, or nothing at all.
  std::string baseline = "logged";
  /// Intervals that hold for all policies at once, by the bootstrap's largest deviation: for whoever picks the best.
  bool simultaneous = false;
  /// A loss: every estimate says how sure one may be that it lies below, and every difference that its policy is
  /// better.
  std::optional<double> loss_threshold;
};

/// The baseline that is the logged actions themselves.
inline constexpr const char* kLoggedBaseline = "logged";

/// A policy to evaluate, under the name it has in the report.
struct NamedPolicy {
  std::string name;
  std::shared_ptr<const TargetPolicy> policy;
};

/// Numbers that are not defined (no variance from one row, no weight at all) are empty, and a warning says why.
struct Estimate {
  std::string estimator;
  std::optional<double> value;
  std::optional<double> standard_error;
  std::optional<double> low, high;
  std::optional<double> parameter;   ///< M or α, where the estimator takes one
  std::optional<double> confidence;  ///< with EvaluateOptions::loss_threshold
  bool doubted = false;              ///< a warning is about it, or about what all estimates of the policy rest on
};

struct Diagnostics {
  std::optional<double> mean_weight;
  std::optional<double> mean_weight_z;  ///< (mean weight − 1) / its standard error
  std::optional<double> ess;            ///< effective sample size (Σw)² / Σw²
  std::optional<double> max_weight;
  std::optional<double> max_weight_share;  ///< of the largest row in the total weight
  bool small_ess = false;                  ///< below 1 % of the rows, which is among the warnings
  std::vector<std::string> warnings;
};

/// Estimates of a policy minus a baseline, paired row by row. Each estimator is taken of both sides; of the logged
/// actions it is their mean loss, whatever the estimator. Only estimators that apply to both are here.
struct Difference {
  std::string baseline;
  std::vector<Estimate> estimates;
};

struct PolicyReport {
  std::string name;
  std::vector<Estimate> estimates;
  Diagnostics diagnostics;
  std::optional<Difference> difference = std::nullopt;  ///< none for the baseline itself
};

struct EvaluationReport {
  std::int64_t rows = 0;  ///< rows that were used
  std::int64_t skipped_rows = 0;
  Audit audit;
  Moments loss;                          ///< of the logged rows themselves: what the logging policy cost
  std::optional<double> loss_error;      ///< standard error of its mean, of clusters where there are any
  std::string interval_assumption;       ///< what intervals take for granted, in words; may be empty
  std::optional<std::int64_t> clusters;  ///< groups of rows that standard errors take as independent
  bool clusters_merged = false;          ///< there were more clusters, which were put together at random
  std::string model;                     ///< name of the model that assisted; may be empty
  std::optional<double> model_penalty;   ///< how strongly it was shrunk, where it was
  std::vector<PolicyReport> policies;
};

/// A usage Error for options that are wrong whatever the data is.
void require_valid(const EvaluateOptions& options);

/// One pass for all policies (two when bad rows are skipped and α depends on how many are left). Throws on an unknown
/// estimator, on one that does not apply to the data, on α or M that is not positive, on a level outside (0, 1), on
/// a baseline that is none of the policies, on bounds that the data contradicts, on zero rows, and on bad rows unless
/// they are skipped. Where the data says which rows belong together, standard errors are those of clusters.
EvaluationReport evaluate(Source& source, const std::vector<NamedPolicy>& policies, const EvaluateOptions& options,
                          const PassOptions& pass);

/// Several rollouts with known policies, walked side by side (one source for each, in rollout order): adds the
/// estimates `mis-naive` and `mis-balance` to the report of every policy, and to its difference, with the covariance
/// between rollouts in their variance.
void add_multiple_importance(const std::vector<Source*>& rollouts,
                             const std::vector<std::shared_ptr<const TargetPolicy>>& logging_policies,
                             const std::vector<NamedPolicy>& policies, const EvaluateOptions& options,
                             const PassOptions& pass, EvaluationReport& report);

}  // namespace scrm
