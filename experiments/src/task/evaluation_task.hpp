/// The task behind `scrm evaluate` and Python's evaluate: policies judged on the rows of a data set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/estimate/weight_histogram.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "task/task_options.hpp"

namespace scrm {

struct EvaluationRequest {
  std::vector<PolicyFile> policies;
  std::vector<NamedPolicy> functions;          ///< policies that are no parameters but code
  std::vector<std::string> targets;            ///< outside policies, by the data's target columns
  std::vector<std::string> target_names = {};  ///< what the report calls them; empty: as the columns
  std::vector<PolicyFile> logging_policies;    ///< in rollout order, for mis-naive and mis-balance
  std::optional<PolicyFile> holdout_of = {};   ///< only the rows that learning this policy did not see
  /// "ridge", "fourier", "none", the name of a model of the data, or "auto": the data's, where there is just one.
  std::string model = "auto";
  bool weight_histogram = false;
  EvaluateOptions options;  ///< bounds of outcomes in the data's own sign
};

/// What has to be read of the data for it.
ReadOptions read_for_evaluation(const EvaluationRequest& request, bool reward);

/// What an evaluation found, in the sign of the data's outcomes.
struct Evaluated {
  EvaluationReport report;
  std::vector<WeightHistogram> histograms;  ///< of the policies' weights, where they were asked for
  Outcome outcome = Outcome::loss;
  std::vector<std::string> warnings = {};  ///< of the data or the request; those of policies are in the report
  EvaluateOptions options = {};            ///< as the engine had them: bounds are those of losses
};

/// The data must have been opened with read_for_evaluation.
Evaluated evaluate_dataset(const EvaluationRequest& request, Dataset dataset, const TaskOptions& task);

}  // namespace scrm
