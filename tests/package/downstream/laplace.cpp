// A kind of policy of one's own, a ~ Laplace(μ(x), scale): registered, written to a file and read back, sampled,
// evaluated and learned with. What the library makes of it is compared with the formulas.
#include "laplace.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/policy/policy_kind.hpp"

namespace {

using namespace scrm;

double log_laplace(double action, double mean, double scale) {
  return -std::abs(action - mean) / scale - std::log(2 * scale);
}

void log_density(const Policy& policy, const Block& block, const double* scores, double* out) {
  for (int i = 0; i < block.rows; ++i) out[i] = log_laplace(block.action[i], scores[i], policy.scale);
}

void score_gradient(const Policy& policy, const Block& block, double* scores, double* logs) {
  log_density(policy, block, scores, logs);
  for (int i = 0; i < block.rows; ++i) scores[i] = std::copysign(1 / policy.scale, block.action[i] - scores[i]);
}

void sample(const Policy& policy, const Block&, const double* scores, int row, RandomStream& random,
            BlockBuffer& actions) {
  const double u = random.uniform() - 0.5;
  actions.action()[row] = scores[row] - std::copysign(policy.scale * std::log1p(-2 * std::abs(u)), u);
}

const PolicyKindDefinition kLaplace = {
    .format = {.kind = PolicyKind("laplace"), .theta = ThetaRows::one, .scale = "mean absolute deviation"},
    .actions = {ActionKind::continuous},
    .log_density = log_density,
    .score_gradient = score_gradient,
    .sample = sample,
};

constexpr int kRows = 3 * kBlockRows + 5;

/// The cell of a context, in [-1, 1].
double context(int row) {
  return std::sin(0.37 * row);
}

/// Actions that `logging` draws, and how far each is from 1 + x.
MemorySource logged_rows(const Schema& schema, const Policy& logging, std::vector<double>& actions) {
  MemorySource source(schema);
  const auto target = make_target_policy(logging, schema, "the logging policy");
  PolicyScratch scratch;
  double* scores = scratch.columns(PolicyScratch::kCallerSlot, 1);
  for (int first = 0; first < kRows; first += kBlockRows) {
    const int rows = std::min(kBlockRows, kRows - first);
    auto buffer = std::make_unique<BlockBuffer>(schema);
    for (int i = 0; i < rows; ++i) buffer->context_f64()[i] = context(first + i);
    const Block block = buffer->view(first, rows);
    target->scores(block, scratch, scores);
    for (int i = 0; i < rows; ++i) {
      RandomStream random(5, 1, static_cast<std::uint64_t>(first + i));
      policy_kind(logging.kind).sample(logging, block, scores, i, random, *buffer);
      buffer->loss()[i] = std::abs(buffer->action()[i] - 1 - context(first + i));
      actions.push_back(buffer->action()[i]);
    }
    target->density(block, scratch, buffer->propensity());
    source.append(std::move(buffer), rows);
  }
  return source;
}

bool near(const char* what, double found, double expected, double tolerance) {
  if (std::abs(found - expected) <= tolerance) return true;
  std::printf("laplace: %s is %.17g, but should be %.17g\n", what, found, expected);
  return false;
}

/// ips of the policy, from its own arithmetic.
double ips_by_hand(const Policy& policy, const Policy& logging, const std::vector<double>& actions) {
  double sum = 0;
  for (int i = 0; i < kRows; ++i) {
    const double a = actions[static_cast<std::size_t>(i)], x = context(i);
    const double mean = policy.theta[0] + policy.theta[1] * x, logged = logging.theta[0] + logging.theta[1] * x;
    const double weight = std::exp(log_laplace(a, mean, policy.scale) - log_laplace(a, logged, logging.scale));
    sum += weight * std::abs(a - 1 - x);
  }
  return sum / kRows;
}

bool check_gradient(MemorySource& source, const Policy& policy) {
  ObjectiveProblem problem{policy, {}, nullptr};
  const auto value = [&](const Policy& at) {
    problem.policy = at;
    return evaluate_objectives(source, {problem}, {}).front();
  };
  const std::vector<double> gradient = value(policy).gradient;
  constexpr double kDelta = 1e-6;
  bool good = gradient.size() == policy.theta.size();
  for (std::size_t j = 0; good && j < gradient.size(); ++j) {
    Policy high = policy, low = policy;
    high.theta[j] += kDelta;
    low.theta[j] -= kDelta;
    const double difference = (value(high).objective - value(low).objective) / (2 * kDelta);
    // A row whose action lies between the two means has a kink in its density.
    good = near("the gradient", gradient[j], difference, 2e-3);
  }
  return good;
}

}  // namespace

bool check_laplace() {
  register_policy_kind(kLaplace);
  Schema schema;
  schema.features = 1;
  Policy logging = zero_policy(PolicyKind("laplace"), FeatureMap::linear, schema);
  logging.scale = 0.8;
  logging.theta = {0.5, 0.25};
  std::vector<double> actions;
  MemorySource source = logged_rows(schema, logging, actions);

  double deviation = 0;
  for (int i = 0; i < kRows; ++i) {
    deviation += std::abs(actions[static_cast<std::size_t>(i)] - 0.5 - 0.25 * context(i)) / kRows;
  }
  // |a − μ| is exponential: its standard deviation is its mean, and 4.5 standard errors are allowed.
  bool good = near("the mean deviation of draws", deviation, 0.8, 4.5 * 0.8 / std::sqrt(kRows));

  const std::string path = (std::filesystem::temp_directory_path() / "scrm_downstream_laplace.toml").string();
  Policy other = logging;
  other.theta = {0.9, 0.8};
  write_policy(path, other);
  const Policy read = read_policy(path);
  std::filesystem::remove(path);
  good &= read.kind == PolicyKind("laplace") && read.theta == other.theta && read.scale == other.scale;

  EvaluateOptions options;
  options.estimators = {"ips"};
  const EvaluationReport report =
      evaluate(source, {{"other", make_target_policy(read, schema, path)}}, options, PassOptions{});
  const Estimate& ips = report.policies.front().estimates.front();
  good &= near("ips", ips.value.value_or(0), ips_by_hand(other, logging, actions), 1e-12);

  good &= check_gradient(source, other);
  const LearnReport learned = learn(source, logging, {}, {});
  const Policy& best = learned.policies.front().policy;
  good &= near("the learned intercept", best.theta[0], 1, 0.1) && near("the learned slope", best.theta[1], 1, 0.15);
  std::printf("laplace: learned %.3f + %.3f x from %d rows\n", best.theta[0], best.theta[1], kRows);
  return good;
}
