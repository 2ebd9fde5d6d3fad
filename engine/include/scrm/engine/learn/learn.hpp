/// learn: fits policies to logged rows by counterfactual risk minimization.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/outcome_model.hpp"
#include "scrm/engine/learn/minimize.hpp"
#include "scrm/engine/learn/objective.hpp"
#include "scrm/engine/pass/row_mask.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

/// How λ is found.
enum class LambdaRule : std::uint8_t {
  given,     ///< one policy for each λ of the list
  theory,    ///< √(18 (d ln n + ln(2/δ))), δ = 0.05, d parameters
  automatic  ///< the λ of the list that does best on held-out splits, then a fit on all rows
};

/// Who scores the policies of each λ on held-out rows.
enum class LambdaJudge : std::uint8_t {
  objective,  ///< the estimator that is minimised; where that trusts a model, its doubly robust form
  model       ///< `dr`, or of bits `additive-dr`, with a ridge model of the other rows: few of them weigh little
};

/// One improvement of the objective on the way.
struct PathPoint {
  int evaluation = 0;
  double objective = 0, risk = 0, penalty = 0, gradient_norm = 0;
  std::optional<double> ess, mean_weight;
};

struct LearnOptions {
  ObjectiveRules rules;  ///< lambda, alpha, clip and mean_loss are filled in by learn
  LambdaRule lambda_rule = LambdaRule::given;
  std::vector<double> lambdas = {0.0};
  LambdaJudge judge = LambdaJudge::objective;
  /// l2 is the candidate that does best on the same splits, for each λ that is used; rules.l2 is not looked at. Where λ
  /// is automatic too, it is chosen first, with the least candidate.
  bool choose_l2 = false;
  /// Empty: 0 and 1e-6 to 1e-2 standard deviations of the losses, in powers of ten, so that their unit does not matter.
  std::vector<double> l2_candidates;
  std::optional<double> alpha;      ///< unset: 1 / rows; of `ls`, its smoothing: 1 / √rows
  std::optional<double> clip;       ///< unset: the fifth-largest weight of the start policy
  std::optional<double> shrinkage;  ///< unset: as `evaluate` tunes it for the start policy
  /// Set: the scale is learned too, from the start's on and never below this. For kinds with a scale gradient.
  std::optional<double> min_scale;
  MinimizeOptions minimize;
  /// Search in coordinates in which the contexts are white, where there are such (not with a bound): far fewer
  /// evaluations. The tolerance then holds in those coordinates.
  bool whiten = false;
  /// The same for every kind of policy, with any number of features and sparse ones: by mean and standard deviation
  /// where whitening would cost too much. Features may then have any units. Where rows are not very many, every search
  /// is done in θ's own coordinates too, and the better end counts; so does what another λ of the list has found.
  /// Where neither rows nor l2 nor a bound decide what θ is (levels of which every row has one, beside an intercept),
  /// it then is what lies nearest to the start, with the mean of the levels over the rows in the intercept.
  bool standardize = false;
  /// Where there are very many rows, search on a sample of them before all, in coordinates in which its contexts are
  /// white (not with a bound): far fewer passes. The tolerance then applies to the gradient in those coordinates. Where
  /// the objective has several minima, another one may be found than from the start alone.
  bool sample_first = true;
  /// Losses that are all the same teach nothing. Whoever learns again and again keeps what it has (the start comes
  /// back, after one evaluation); whoever learns once is told by an error.
  bool keep_start_if_losses_equal = false;
  /// λ by held-out rows as the paper's released code chooses it: rows are split one by one, also those that share a
  /// context or a cluster.
  bool published_splits = false;
  int restarts = 1;  ///< searches from different starts; the best one counts
  std::uint64_t seed = 0;
  bool skip_bad_rows = false;
  const RowMask* rows = nullptr;  ///< rows to learn from; null: all
  /// Of estimators that need one; null: a ridge model (ridge_model.hpp), fitted to the rows to learn from.
  std::shared_ptr<const OutcomeModel> model = {};
  /// Told after every pass which share of all searches is done, as far as gradients tell: for a progress bar.
  std::function<void(double share)> on_share;
  /// Told about every improvement of the final fit of the first λ, as it happens.
  std::function<void(const PathPoint&)> on_progress;
};

/// A fitted policy and how it was found.
struct LearnedPolicy {
  Policy policy;
  double lambda = 0;
  double l2 = 0;
  ObjectiveValue value;
  MinimizeResult search;                ///< iterations and evaluations are those of all searches together
  int searches = 1;                     ///< how many these are: restarts, other coordinates, starts of another λ
  std::optional<double> other_minimum;  ///< objective of a search that ended elsewhere, and higher
  std::vector<PathPoint> path;
};

/// Mean unpenalised risk of a λ and a ridge on the held-out parts of the splits, in which rows that depend on each
/// other stay together.
struct LambdaScore {
  double lambda = 0;
  double risk = 0;
  double l2 = 0;
};

struct LearnReport {
  std::vector<LearnedPolicy> policies;  ///< one, or one for each λ given
  std::vector<LambdaScore> scores;      ///< of LambdaRule::automatic
  std::vector<LambdaScore> l2_scores;   ///< of choose_l2: every candidate, with each λ that is used
  Moments loss;                         ///< of the rows learned from
  double alpha = 0;
  double clip = 0;
  double shrinkage = 0;                            ///< of estimators that take one
  std::vector<std::int64_t> constant_features;     ///< that never vary in the rows learned from; with standardize
  std::vector<std::int64_t> action_counts;         ///< of the rows learned from, by category; else empty
  std::shared_ptr<const OutcomeModel> model = {};  ///< that assisted
};

/// A usage Error for options that are wrong whatever the data is.
void require_valid(const LearnOptions& options);

/// Fits from `start`, which fixes kind, features, scale (or where it starts from), ε and θ₀. Throws on λ < 0, l2 < 0, a
/// start outside the bound, a start that does not fit the data, no rows, and, unless keep_start_if_losses_equal, losses
/// that are all the same.
LearnReport learn(Source& source, const Policy& start, const LearnOptions& options, const PassOptions& pass);

/// √(18 (d ln n + ln(2/δ))) with δ = 0.05.
double theory_lambda(double parameters, double rows);

/// A policy of this kind with θ = 0 for data of this schema.
Policy zero_policy(PolicyKind kind, FeatureMap features, const Schema& schema);

}  // namespace scrm
