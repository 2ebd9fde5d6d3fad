/// The task behind `scrm learn` and Python's learn: policies fitted to the rows of a data set, and judged on others.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/learning/learning_text.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "task/task_options.hpp"

namespace scrm {

struct LearningRequest {
  std::string kind;  ///< empty: what suits the actions
  FeatureMap features = FeatureMap::linear;
  /// Of FeatureMap::fourier; width and seed are the request's, bandwidth 0 stands for the root of the number of
  /// features, and centre and spread come from the rows.
  FourierFeatures fourier = {.width = 256, .bandwidth = 0, .seed = 0};
  std::optional<Mixing> mixing = {};     ///< unset: joint
  std::optional<double> scale = {};      ///< unset: what suits the logged actions, see learning_start()
  bool learn_scale = false;              ///< the scale is learned too, from the logged actions' on
  std::optional<double> min_scale = {};  ///< the least that is learned; unset: a tenth of these actions' spread
  std::optional<double> epsilon = {};    ///< unset: 0.1 for kinds that have it
  std::optional<PolicyFile> start = {};  ///< then fixes all of the above
  std::string estimator = "ips-ix";
  double holdout = 0.2;                      ///< share of rows kept for an honest estimate
  std::vector<PolicyFile> logging_policies;  ///< in rollout order: rows are weighed by the balance heuristic
  LearnOptions options;
};

/// λ of the options: values (one policy each), or a rule; `automatic` chooses among the values, where there are any.
void set_lambdas(LearnOptions& options, LambdaRule rule, std::vector<double> values);

/// What has to be read of the data for it.
ReadOptions read_for_learning(bool reward);

struct Learned {
  LearnReport report;
  std::vector<LearnOutcome> outcomes;
  std::vector<Policy> policies;  ///< of the outcomes, with names and with what rows they have seen, as files hold them
  LearnContext context;
};

/// A usage Error for what is wrong with a request whatever the data is, so that it need not be opened first.
void require_valid(const LearningRequest& request);

/// `path` is what the policy of a λ, one of so many, is called.
Learned learn_from_dataset(LearningRequest request, Dataset dataset,
                           const std::function<std::string(double lambda, std::size_t policies)>& path,
                           const TaskOptions& task);

/// What a policy file says of where it comes from; `data` names the rows.
std::string provenance(const LearningRequest& request, const LearnedPolicy& learned, const std::string& data);

}  // namespace scrm
