#include "learn/model/model_start.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "estimate/model/ridge_scores.hpp"
#include "learn/model/learning_model.hpp"
#include "pass/pool.hpp"
#include "policy/kinds/policy_kinds.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/threads.hpp"

namespace scrm {
namespace {

// How decidedly: the root mean square of the scores.
constexpr double kScoreSizes[] = {2, 8, 32, 128};

/// θ of scores that prefer what the model does; empty where there is none. Of a model of bits the first row does not
/// depend on the action; of categories, what all share does not.
std::vector<double> model_theta(const ObjectiveProblem& problem) {
  const auto* ridge = dynamic_cast<const RidgeScores*>(&problem.model->model());
  const Policy& policy = problem.policy;
  if (ridge == nullptr || policy.features != FeatureMap::linear) return {};
  std::vector<double> theta = ridge->mean_theta();
  const auto width = static_cast<std::size_t>(policy.row_length());
  if (policy.kind == PolicyKind::multilabel) {
    theta.erase(theta.begin(), theta.begin() + static_cast<std::ptrdiff_t>(width));
  } else if (policy.kind == PolicyKind::softmax) {
    for (std::size_t j = 0; j < width; ++j) {
      double mean = 0;
      for (std::size_t at = j; at < theta.size(); at += width) mean += theta[at] / policy.outputs;
      for (std::size_t at = j; at < theta.size(); at += width) theta[at] -= mean;
    }
  } else {
    return {};
  }
  for (double& one : theta) one = -one;
  return theta;
}

/// As many threads as there is memory for their scores.
PassOptions with_scores(const PassOptions& pass, int outputs) {
  if (pass.memory == 0) return pass;
  const std::size_t scores = static_cast<std::size_t>(outputs) * kBlockRows * sizeof(double);
  const auto wanted = static_cast<std::size_t>(resolve_threads(pass.threads));
  const std::size_t threads = std::clamp<std::size_t>(pass.memory / 2 / scores, 1, wanted);
  MemoryLedger ledger(pass.memory);
  ledger.charge(threads * scores, "scores of all actions of the policy that learning with a model starts from",
                "fewer actions, or an --estimator without a model");
  PassOptions out = pass;
  out.threads = static_cast<int>(threads);
  out.memory = ledger.left();
  return out;
}

double root_mean_square(Source& source, const Policy& policy, const PassOptions& pass) {
  const auto target = make_target_policy(policy, source.schema(), "the model's scores");
  Pool<PolicyScratch> pool;
  const auto [sum, audit] = run_pass(
      source, 0.0,
      [&](const Block& block, double& out) {
        const Pool<PolicyScratch>::Lease scratch = pool.lease();
        double* scores = scratch->columns(PolicyScratch::kCallerSlot, policy.outputs);
        target->scores(block, *scratch, scores);
        out = 0;
        for (int k = 0; k < policy.outputs; ++k) {
          for (int i = 0; i < block.rows; ++i) out += scores[cell(k, i)] * scores[cell(k, i)];
        }
      },
      [](double& a, double b) { a += b; }, with_scores(pass, policy.outputs));
  return std::sqrt(sum / static_cast<double>(source.rows()) / policy.outputs);
}

}  // namespace

Policy best_start(Source& source, const ObjectiveProblem& problem, const PassOptions& pass, bool skip_bad_rows) {
  if (problem.model == nullptr) return problem.policy;
  ObjectiveProblem followed = problem;
  followed.policy.theta = model_theta(problem);
  if (followed.policy.theta.size() != problem.policy.theta.size()) return problem.policy;
  const double size = root_mean_square(source, followed.policy, pass);
  if (!(size > 0) || !std::isfinite(size)) return problem.policy;
  std::vector<ObjectiveProblem> problems = {problem};
  for (const double wanted : kScoreSizes) {
    problems.push_back(followed);
    for (double& theta : problems.back().policy.theta) theta *= wanted / size;
  }
  const std::vector<ObjectiveValue> values = evaluate_objectives(source, problems, pass, skip_bad_rows);
  std::size_t best = 0;
  for (std::size_t p = 1; p < problems.size(); ++p) {
    if (values[p].objective < values[best].objective) best = p;
  }
  return problems[best].policy;
}

}  // namespace scrm
