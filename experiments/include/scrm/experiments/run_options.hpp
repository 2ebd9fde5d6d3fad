/// RunOptions: everything but data, method and seed that fixes the numbers of a run, as a sweep file states it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/regression/kernel_ridge.hpp"
#include "scrm/engine/reinforcement/options.hpp"
#include "scrm/experiments/batch_plan.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

enum class Protocol : std::uint8_t {
  paper,     ///< no label is ever looked at when acting
  published  ///< with what the released code does differently
};

/// What a learner that deploys its policies learns from.
enum class PastRollouts : std::uint8_t {
  last,    ///< the newest batch alone
  naive,   ///< all batches, each row with its own propensity
  balance  ///< all batches under the balance heuristic
};

/// How a run finds its λ.
enum class LambdaKind : std::uint8_t {
  given,      ///< a number
  automatic,  ///< at every rollout, the candidate that does best on held-out rows
  theory,     ///< √(18 (d ln n + ln(2/δ)))
  log_rows    ///< √(18 ln n), the penalty of the gaussian example
};

struct LambdaChoice {
  LambdaKind kind = LambdaKind::given;
  double value = 0;
};

/// What a bandit's β falls with.
enum class BetaRule : std::uint8_t {
  rows,    ///< 1/√n, n rows logged so far
  batches  ///< 1/√m, m batches logged so far
};

/// How bits become numbers of a bandit's state.
enum class ActionEncoding : std::uint8_t {
  integer,  ///< one number, the first label its highest bit
  bits      ///< a number a label, under a kernel of their own: (x·x' + 1)(a·a' + 1)
};

/// What kernel bandits are told; other methods do not look at it.
struct BanditOptions {
  std::optional<KernelKind> kernel;  ///< unset: the method's own
  int degree = 2;                    ///< polynomial
  double length = 0.1;               ///< gaussian
  BetaRule beta = BetaRule::rows;
  ActionEncoding encoding = ActionEncoding::integer;
  std::optional<std::int64_t> points;          ///< inducing points; unset: exact where rows and features allow
  bool compare_points = false;                 ///< learn again with twice the points in the end and compare
  std::optional<std::vector<double>> lambdas;  ///< unset: the method's own
};

struct RunOptions {
  Protocol protocol = Protocol::paper;
  int rollouts = 10;
  BatchPlan batches;  ///< of environments that draw fresh rows; labelled data is cut into `rollouts` equal parts

  const Estimator* estimator = &kIpsIxEstimator;
  Penalty penalty = Penalty::se;
  std::vector<LambdaChoice> lambdas = {{}};
  std::vector<double> lambda_candidates = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1};  ///< what `auto` chooses among
  LambdaJudge judge = LambdaJudge::objective;                              ///< of the candidates
  std::vector<std::optional<double>> l2 = {0.0};  ///< none: at every rollout, the candidate that does best
  std::vector<double> l2_candidates;              ///< empty: LearnOptions::l2_candidates' own
  std::optional<double> alpha;
  double weight_cap = 1e100;
  bool centre_losses = false;  ///< of the risk: losses are taken less their mean
  std::optional<std::pair<double, double>> bound;

  PastRollouts past = PastRollouts::last;
  bool warm_start = true;
  int max_iterations = 500;
  double tolerance = 1e-5;
  double relative_decrease = 1e-9;  ///< a search also ends when an iteration gains less

  double epsilon = 0.1;                   ///< of policies over finitely many actions
  std::optional<double> logging_epsilon;  ///< of learned policies while they log; unset: epsilon
  Mixing mixing = Mixing::label;

  // Environments of continuous actions only; unset: the environment's own.
  std::optional<double> scale;      ///< standard deviation of the policies that are learned
  bool learn_scale = false;         ///< it is only where learning starts from, and learned too
  std::optional<double> min_scale;  ///< the least that is learned; unset: a fifth of where learning starts
  std::optional<double> start;      ///< intercept of the policy that learning starts from

  // Labelled data only.
  int replays = 4;                  ///< times every row is met within its batch
  std::optional<double> bonus;      ///< added to every coefficient of the first policy; unset: the data set's own
  std::int64_t projection = 0;      ///< features of a Gaussian random projection, 0: none
  std::optional<bool> unit_length;  ///< rows scaled to length one; unset: the data set's own
  std::optional<bool> standardize;  ///< features scaled to unit spread; unset: where rows have a class
  FeatureMap features = FeatureMap::linear;
  FourierFeatures fourier = {.width = 256, .bandwidth = 0};  ///< bandwidth 0: the root of the number of features

  BanditOptions bandit;

  ReinforcementOptions reinforcement;                  ///< what PPO and TRPO are told
  std::optional<std::vector<double>> entropy_weights;  ///< of their pretraining, a run each; unset: the method's own
};

/// Where a learned scale ends, if learning starts from this one.
double least_scale(const RunOptions& options, double start_scale) noexcept;

/// All of it as text, one `name = value` a line, in a fixed order: what identifies a run, and what two sweeps are
/// compared by.
std::string describe(const RunOptions& options);

/// "given", "auto", "theory" or "log-rows".
const char* to_string(LambdaKind kind) noexcept;

}  // namespace scrm
