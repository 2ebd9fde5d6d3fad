#include "task/evaluation_task.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "report/terminal.hpp"
#include "scrm/engine/estimate/as_rewards.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/pass/fourier_source.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/engine/pass/row_split.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/policy/first_features.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/io/shard/fingerprint.hpp"
#include "task/data_fingerprint.hpp"
#include "task/logging_policies.hpp"

namespace scrm {
namespace {

constexpr const char* kRidge = "ridge";
constexpr const char* kFourier = "fourier";
constexpr const char* kNoModel = "none";
constexpr const char* kAutoModel = "auto";

using LoggingPolicies = std::vector<std::shared_ptr<const TargetPolicy>>;

/// Which of a policy's training rows these are, in words: "these", "the first of these", "1,000 of these"; empty where
/// none are known.
std::string training_rows_among(const Training& training, Dataset& dataset, std::uint64_t begins) {
  const std::int64_t rows = dataset.rows(), known = rows_of_known_shards(dataset, training.shards);
  // Outcomes and propensities alone are the same on many a day where outcomes are rare.
  const bool begins_alike =
      training.begins == begins && (training.shards.empty() || begins_like(dataset, training.shards.front()));
  if (known == rows || (begins_alike && training.rows == rows)) return "these";
  if (begins_alike) return "the first of these";
  return known > 0 ? fmt::format("{} of these", with_commas(known)) : "";
}

/// What is to be said where a policy is judged on the rows it was learned from; empty where it is not.
std::string training_rows_warning(const PolicyFile& file, Dataset& dataset, std::uint64_t begins) {
  const std::optional<Training>& training = file.policy.training;
  if (!training || dataset.rows() == 0) return "";
  const std::string which = training_rows_among(*training, dataset, begins);
  if (which.empty()) return "";
  const bool all = training->rows == dataset.rows();
  std::string advice = "judge it on other rows";
  if (training->holdout > 0 && which == "these")
    advice = fmt::format("--holdout-of {}{} judges it on those that were held out", shell_word(file.name),
                         all ? "" : ", given all the data of its `scrm learn`,");
  return fmt::format("it was learned from {} rows, and its estimate on them is an optimist's; {}", which, advice);
}

/// One for each policy file.
std::vector<std::string> training_rows_warnings(const EvaluationRequest& request, Dataset& dataset,
                                                std::uint64_t begins) {
  std::vector<std::string> warnings;
  for (const PolicyFile& file : request.policies) warnings.push_back(training_rows_warning(file, dataset, begins));
  return warnings;
}

/// Whether these are all files that the policy was learned from, in whatever order.
bool are_training_files(const Policy& policy, Dataset& dataset) {
  return policy.training && policy.training->rows == dataset.rows() &&
         rows_of_known_shards(dataset, policy.training->shards) == dataset.rows();
}

/// One request on its way over one data set.
class Evaluation {
 public:
  Evaluation(const EvaluationRequest& request, Dataset dataset, const TaskOptions& task)
      : request_(request),
        options_(request.options),
        task_(task),
        begins_(data_fingerprint(dataset, task)),
        sample_(request.holdout_of ? sample_fingerprint(dataset) : 0),
        on_training_rows_(training_rows_warnings(request, dataset, begins_)),
        are_its_files_(request.holdout_of && are_training_files(request.holdout_of->policy, dataset)),
        source_(std::move(dataset)) {}

  Evaluated run() {
    const Outcome outcome = source_.schema().outcome.value_or(Outcome::loss);
    if (!source_.schema().unnamed_columns.empty()) task_.warning(unnamed_columns_warning(source_.schema()));
    if (outcome == Outcome::reward) as_losses();
    prepare_policies();
    Evaluated result = request_.holdout_of ? judge_held_out() : judge_all();
    if (outcome == Outcome::reward) result.report = as_rewards(std::move(result.report));
    result.outcome = outcome;
    result.options = options_;
    return result;
  }

 private:
  /// What was given as rewards, as the losses that are evaluated.
  void as_losses() {
    if (options_.outcome_range)
      options_.outcome_range = OutcomeRange{-options_.outcome_range->high, -options_.outcome_range->low};
    if (options_.at_least) options_.at_least = -*options_.at_least;
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
    for (std::size_t i = 0; i < request_.policies.size(); ++i) {
      const std::string& warning = on_training_rows_[i];
      std::vector<std::string>& said = report.policies[i].diagnostics.warnings;
      if (!warning.empty()) said.insert(said.begin(), warning);
    }
    return {std::move(report), histograms(source_)};
  }

  /// The rows that learning the policy did not see.
  RowMask held_out_rows() {
    const auto& [name, policy] = *request_.holdout_of;
    const std::optional<Training>& training = policy.training;
    const auto fail = [&name = name](const std::string& what) { throw Error(ErrorKind::data, what, {.file = name}); };
    if (!training) fail("does not say which rows it was learned from: only files that `scrm learn` wrote do");
    if (training->begins != begins_ && are_its_files_) {
      fail(
          "was learned from these files in another order, and which rows were held out goes by their numbers: give "
          "--holdout-of the files in the order of its `scrm learn`");
    }
    if (training->begins != begins_ || training->rows != source_.rows()) {
      fail(fmt::format("was learned from {}, and these are others ({}): give --holdout-of the data of its `scrm learn`",
                       counted(training->rows, "row"), counted(source_.rows(), "row")));
    }
    if (training->sample && *training->sample != sample_) {
      fail(
          "was learned from as many rows that begin alike, but not from these in this order, and which were held out "
          "goes by their numbers: give --holdout-of the files in the order of its `scrm learn`");
    }
    if (training->holdout == 0) fail("was learned from all of these rows: none were held out");
    if (training->by_cluster && !source_.schema().cluster)
      fail("was learned with whole clusters held out, and these rows have no dataset `cluster`");
    return ~training_rows(source_, training->by_cluster ? SplitUnit::cluster : SplitUnit::row, training->holdout,
                          training->seed, task_.pass("splitting"));
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
  std::uint64_t begins_, sample_;
  std::vector<std::string> on_training_rows_;  ///< warnings, one for each policy file
  bool are_its_files_;                         ///< those that the policy of holdout_of was learned from, in any order
  ShardSource source_;
  std::vector<NamedPolicy> policies_;
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
