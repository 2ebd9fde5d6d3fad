// An estimator that scrm does not have, evaluated and learned with from outside the source tree.
#include "log_smoothing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <vector>

#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/pass/memory_source.hpp"

namespace {

// t(w) = log(1 + alpha w) / alpha, and its derivative by log w.
scrm::ValueAndSlope log_smoothing(double w, double alpha) {
  return {std::log1p(alpha * w) / alpha, w / (1 + alpha * w)};
}

// Logarithmic smoothing (Sakhi et al., 2024).
const scrm::Estimator kLogSmoothing = {
    .name = "log-smoothing",
    .formula = "mean(log(1 + alpha w) / alpha y)",
    .parameter = scrm::EstimatorParameter::alpha,
    .transform = scrm::WeightTransform::given,
    .weight_function = scrm::for_each_weight<log_smoothing>,
    .learning = scrm::LearningRule{},
};

constexpr int kRows = 2 * scrm::kBlockRows + 5;
constexpr double kAlpha = 0.2, kLambda = 0.3, kScale = 0.8;

double context(int row) {
  return std::sin(row);
}
double action(int row) {
  return 1.5 * std::cos(1.7 * row);
}
double loss(int row) {
  return std::pow(action(row) - 0.5 * context(row) - 0.2, 2) - 1;
}
double normal_density(double z, double scale) {
  return std::exp(-z * z / 2 / scale / scale) / scale / std::sqrt(2 * std::numbers::pi);
}

scrm::MemorySource make_rows() {
  scrm::Schema schema;
  schema.features = 1;
  scrm::MemorySource source(schema);
  for (int first = 0; first < kRows; first += scrm::kBlockRows) {
    const int rows = std::min(scrm::kBlockRows, kRows - first);
    auto buffer = std::make_unique<scrm::BlockBuffer>(schema);
    for (int i = 0; i < rows; ++i) {
      buffer->context_f64()[i] = context(first + i);
      buffer->action()[i] = action(first + i);
      buffer->loss()[i] = loss(first + i);
      buffer->propensity()[i] = normal_density(action(first + i), 1);
    }
    source.append(std::move(buffer), rows);
  }
  return source;
}

struct Expected {
  double mean = 0, standard_error = 0;
  double objective() const { return mean + kLambda * standard_error; }
};

// The formula as it stands on paper.
Expected expected(const std::vector<double>& theta) {
  std::vector<double> terms;
  for (int i = 0; i < kRows; ++i) {
    const double w =
        normal_density(action(i) - theta[0] - theta[1] * context(i), kScale) / normal_density(action(i), 1);
    terms.push_back(std::log(1 + kAlpha * w) / kAlpha * loss(i));
  }
  Expected out;
  for (const double term : terms) out.mean += term / kRows;
  double squares = 0;
  for (const double term : terms) squares += (term - out.mean) * (term - out.mean);
  out.standard_error = std::sqrt(squares / (kRows - 1) / kRows);
  return out;
}

bool near(const char* what, double found, double wanted, double tolerance) {
  const bool right = std::abs(found - wanted) <= tolerance;
  if (!right) std::printf("%s is %.15g instead of %.15g\n", what, found, wanted);
  return right;
}

}  // namespace

bool log_smoothing_works() {
  scrm::register_estimator(kLogSmoothing);
  scrm::MemorySource source = make_rows();
  scrm::Policy start;
  start.scale = kScale;
  start.theta = {-0.3, 0.1};

  scrm::EvaluateOptions evaluation;
  evaluation.estimators = {"log-smoothing"};
  evaluation.alpha = kAlpha;
  const std::vector<scrm::NamedPolicy> policies = {
      {"start", scrm::make_target_policy(start, source.schema(), "start")}};
  const scrm::Estimate estimate = scrm::evaluate(source, policies, evaluation, {}).policies[0].estimates[0];
  const Expected at_start = expected(start.theta);
  bool right = near("the estimate", estimate.value.value(), at_start.mean, 1e-12) &&
               near("its standard error", estimate.standard_error.value(), at_start.standard_error, 1e-12);

  scrm::LearnOptions learning;
  learning.rules.estimator = &scrm::find_learning_estimator("log-smoothing");
  learning.alpha = kAlpha;
  learning.lambdas = {kLambda};
  learning.minimize.tolerance = 1e-8;
  const scrm::LearnedPolicy learned = scrm::learn(source, start, learning, {}).policies[0];
  const double objective = expected(learned.policy.theta).objective();
  right = near("the objective learned", learned.value.objective, objective, 1e-12) && right;
  // A minimum: every step away from it, by the formula on paper, is a step up.
  for (const std::size_t j : {0, 1}) {
    for (const double step : {-1e-3, 1e-3}) {
      std::vector<double> beside = learned.policy.theta;
      beside[j] += step;
      if (!(expected(beside).objective() > objective)) {
        std::printf("theta[%zu] moved by %g is better\n", j, step);
        right = false;
      }
    }
  }
  std::printf("log-smoothing: %.4f at the start, learned down to %.4f\n", at_start.objective(), objective);
  return right && objective < at_start.objective();
}
