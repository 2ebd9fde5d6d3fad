#include "task/evaluation_task.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "scrm/engine/estimate/as_rewards.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/pass/fourier_source.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/engine/pass/row_split.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/policy/first_features.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/known_rows.hpp"
#include "task/data_fingerprint.hpp"
#include "task/logging_policies.hpp"
#include "task/training_data.hpp"
#include "task/unnamed_inputs.hpp"

namespace scrm {
namespace {

constexpr const char* kRidge = "ridge";
constexpr const char* kFourier = "fourier";
constexpr const char* kNoModel = "none";
constexpr const char* kAutoModel = "auto";

using LoggingPolicies = std::vector<std::shared_ptr<const TargetPolicy>>;

/// What a few rows tell of the data before any pass.
struct FirstLook {
  std::string holdout_refusal;                ///< why the policy of holdout_of cannot be judged on these rows
  std::vector<std::string> on_training_rows;  ///< warnings, one for each policy file; may be empty
  std::vector<std::string> copies;            ///< warnings
};

FirstLook look_at_rows(const EvaluationRequest& request, Dataset& dataset, const TaskOptions& task) {
  const std::uint64_t begins = data_fingerprint(dataset, task);
  RowFingerprints rows(dataset);
  TrainingData training(rows, begins);
  FirstLook out;
  if (request.holdout_of) out.holdout_refusal = training.holdout_refusal(request.holdout_of->policy);
  for (const PolicyFile& file : request.policies) out.on_training_rows.push_back(training.warning(file));
  out.copies = copied_rows_warnings(rows);
  return out;
}

/// One request on its way over one data set.
class Evaluation {
 public:
  Evaluation(const EvaluationRequest& request, Dataset dataset, const TaskOptions& task)
      : request_(request),
        options_(request.options),
        task_(task),
        seen_(look_at_rows(request, dataset, task)),
        source_(std::move(dataset)) {}

  Evaluated run() {
    const Outcome outcome = source_.schema().outcome.value_or(Outcome::loss);
    if (!source_.schema().unnamed_columns.empty()) say(unnamed_columns_warning(source_.schema()));
    if (outcome == Outcome::reward) as_losses();
    prepare_policies();
    say_what_is_not_compared();
    Evaluated result = request_.holdout_of ? judge_held_out() : judge_all();
    for (const std::string& warning : seen_.copies) say(warning);
    add_policy_warnings(result.report);
    if (outcome == Outcome::reward) result.report = as_rewards(std::move(result.report));
    result.outcome = outcome;
    result.options = options_;
    result.warnings = std::move(warnings_);
    return result;
  }

 private:
  /// Of the data or the request, not of one policy.
  void say(const std::string& warning) {
    task_.warning(warning);
    warnings_.push_back(warning);
  }

  void say_what_is_not_compared() {
    if (policies_.size() != 1 || options_.baseline == kLoggedBaseline || policies_.front().name != options_.baseline)
      return;
    say(
        fmt::format("{} is the --baseline and the only policy, so there is no difference to show: give the policies "
                    "that it is to be compared with, or leave --baseline out",
                    options_.baseline));
  }

  /// What is known of policies before they are evaluated, first.
  void add_policy_warnings(EvaluationReport& report) const {
    for (std::size_t i = 0; i < request_.policies.size(); ++i) {
      const auto& [name, policy] = request_.policies[i];
      std::vector<std::string>& said = report.policies[i].diagnostics.warnings;
      const auto add_first = [&said](const std::string& warning) {
        if (!warning.empty()) said.insert(said.begin(), warning);
      };
      add_first(unnamed_inputs_warning(policy, name, source_.dataset()));
      if (!request_.holdout_of) add_first(seen_.on_training_rows[i]);
    }
  }

  /// What was given as rewards, as the losses that are evaluated.
  void as_losses() {
    if (options_.outcome_range)
      options_.outcome_range = OutcomeRange{-options_.outcome_range->high, -options_.outcome_range->low};
    if (options_.loss_threshold) options_.loss_threshold = -*options_.loss_threshold;
  }

  void prepare_policies() {
    for (const PolicyFile& file : request_.policies)
      policies_.push_back({file.name, make_target_policy(file.policy, source_.schema(), file.name)});
    policies_.insert(policies_.end(), request_.functions.begin(), request_.functions.end());
    const std::vector<std::string>& names = request_.target_names.empty() ? request_.targets : request_.target_names;
    for (std::size_t t = 0; t < names.size(); ++t)
      policies_.push_back({names[t], make_target_column_policy(static_cast<int>(t))});
  }

  Evaluated judge_held_out() {
    const RowMask mask = held_out_rows();
    MaskedSource rows(source_, mask);
    EvaluationReport report = judge(rows);
    return {std::move(report), histograms(rows)};
  }

  Evaluated judge_all() {
    LoggingPolicies logging;  // made ready first: what is wrong with them is known before the pass
    if (!request_.logging_policies.empty())
      logging = prepare_logging_policies(request_.logging_policies, source_.dataset(), task_);
    EvaluationReport report = judge(source_);
    if (!logging.empty()) add_rollouts(logging, report);
    return {std::move(report), histograms(source_)};
  }

  /// The rows that learning the policy did not see.
  RowMask held_out_rows() {
    if (!seen_.holdout_refusal.empty())
      throw Error(ErrorKind::data, seen_.holdout_refusal, {.file = request_.holdout_of->name});
    const Training& training = *request_.holdout_of->policy.training;
    return ~training_rows(source_, training.by_cluster ? SplitUnit::cluster : SplitUnit::row, training.holdout,
                          training.seed, task_.pass("splitting"));
  }

  RidgeOptions ridge_options() const {
    return {.skip_bad_rows = options_.skip_bad_rows,
            .memory_help = "fewer features, or evaluate with an outside model (--model NAME)"};
  }

  EvaluationReport judge(Source& rows) {
    EvaluateOptions options = options_;
    if (rows.schema().model) {
      options.model = make_column_model(rows.schema());
    } else if (request_.model == kFourier) {
      return judge_with_fourier(rows);
    } else if (request_.model == kRidge) {
      options.model = fit_ridge_model(rows, ridge_options(), task_.pass("fitting the model"));
    }
    return evaluate(rows, policies_, options, task_.pass("evaluating"));
  }

  /// The ridge model of contexts and their random features; policies see the contexts alone.
  EvaluationReport judge_with_fourier(Source& rows) {
    constexpr std::int64_t kWidth = 256;
    EvaluateOptions options = options_;
    const PassOptions fitting = task_.pass("fitting the model");
    const FourierFeatures map = standardized_fourier(rows, kWidth, 0, options.seed, fitting, options.skip_bad_rows);
    FourierSource mapped(rows, map);
    options.model = fit_ridge_model(mapped, ridge_options(), fitting);
    std::vector<NamedPolicy> policies;
    for (const NamedPolicy& one : policies_)
      policies.push_back({one.name, on_first_features(one.policy, rows.schema().features)});
    EvaluationReport report = evaluate(mapped, policies, options, task_.pass("evaluating"));
    report.model = kFourier;
    return report;
  }

  void add_rollouts(const LoggingPolicies& logging, EvaluationReport& report) {
    const Dataset& dataset = source_.dataset();
    std::vector<std::unique_ptr<ShardSource>> owned;
    std::vector<Source*> sources;
    for (const int rollout : dataset.rollouts()) {
      owned.push_back(std::make_unique<ShardSource>(dataset.rollout(rollout)));
      sources.push_back(owned.back().get());
    }
    add_multiple_importance(sources, logging, policies_, options_, task_.pass("rollouts"), report);
  }

  std::vector<WeightHistogram> histograms(Source& rows) {
    if (!request_.weight_histogram) return {};
    return weight_histograms(rows, policies_, task_.pass("weights"));
  }

  const EvaluationRequest& request_;
  EvaluateOptions options_;
  const TaskOptions& task_;
  FirstLook seen_;
  ShardSource source_;
  std::vector<NamedPolicy> policies_;
  std::vector<std::string> warnings_;
};

}  // namespace

ReadOptions read_for_evaluation(const EvaluationRequest& request, bool reward) {
  ReadOptions read;
  read.reward = reward;
  read.targets = request.targets;
  read.cluster = true;
  read.sole_model = request.model == kAutoModel;
  if (!read.sole_model && request.model != kNoModel && request.model != kRidge && request.model != kFourier)
    read.model = request.model;
  return read;
}

Evaluated evaluate_dataset(const EvaluationRequest& request, Dataset dataset, const TaskOptions& task) {
  return Evaluation(request, std::move(dataset), task).run();
}

}  // namespace scrm
