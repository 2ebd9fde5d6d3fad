#include "reinforcement/losses.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace scrm {
namespace {

constexpr double kLargestLogRatio = 50;
constexpr double kAddedSpread = 1e-8;

}  // namespace

double clipped_surrogate(std::span<const double> log_probability, const double* old_log_probability,
                         const double* advantages, double clip, double* weights) {
  double sum = 0;
  for (std::size_t i = 0; i < log_probability.size(); ++i) {
    const double advantage = advantages[i];
    const double ratio = std::exp(std::min(log_probability[i] - old_log_probability[i], kLargestLogRatio));
    // Where the clipped term is the smaller one, the ratio has gone as far as it should.
    const double whole = ratio * advantage, cut = std::clamp(ratio, 1 - clip, 1 + clip) * advantage;
    sum += std::min(whole, cut);
    weights[i] = whole <= cut ? whole : 0;
  }
  return sum;
}

void normalize(std::span<double> advantages) {
  if (advantages.size() < 2) return;
  const auto n = static_cast<double>(advantages.size());
  double sum = 0, squares = 0;
  for (const double a : advantages) sum += a;
  for (double& a : advantages) {
    a -= sum / n;
    squares += a * a;
  }
  const double spread = std::sqrt(squares / (n - 1)) + kAddedSpread;
  for (double& a : advantages) a /= spread;
}

ScoreColumns ActorCriticLoss::score(const Minibatch& rows) {
  const std::int64_t size = agent_.distribution().outputs() * agent_.width();
  linear_scores(rows.contexts, agent_.actor().first(static_cast<std::size_t>(size)), scores_);
  score_gradient_.setZero(scores_.rows(), scores_.cols());
  log_probability_.resize(rows.contexts.rows);
  weights_.resize(rows.contexts.rows);
  return {scores_.data(), rows.contexts.rows, agent_.log_scale()};
}

void ActorCriticLoss::finish(const Minibatch& rows, const ScoreGradient& by_scores, std::span<double> gradient) {
  add_weight_gradient(rows.contexts, score_gradient_, gradient);
  if (agent_.distribution().has_scale())
    gradient[static_cast<std::size_t>(agent_.actor_size() - 1)] = by_scores.log_scale;
}

double ActorCriticLoss::add_value(const Minibatch& rows, double weight, std::span<double> critic_gradient) {
  const auto n = static_cast<double>(rows.contexts.rows);
  linear_scores(rows.contexts, agent_.critic(), values_);
  double sum = 0;
  for (Eigen::Index i = 0; i < values_.rows(); ++i) {
    const double error = values_(i, 0) - rows.rewards[i];
    sum += error * error;
    values_(i, 0) = 2 * weight / n * error;
  }
  add_weight_gradient(rows.contexts, values_, critic_gradient);
  return weight * sum / n;
}

double ActorCriticLoss::cloning(const Minibatch& rows, double entropy_weight, std::span<double> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  const ScoreColumns at = score(rows);
  const ActionDistribution& distribution = agent_.distribution();
  const auto n = static_cast<double>(rows.contexts.rows);
  ScoreGradient by_scores{score_gradient_.data()};
  distribution.log_probability(at, rows.actions, log_probability_.data());
  weights_.setConstant(-1 / n);
  distribution.add_log_gradient(at, rows.actions, weights_.data(), by_scores);
  distribution.add_entropy_gradient(at, -entropy_weight / n, by_scores);
  finish(rows, by_scores, gradient);
  return -log_probability_.sum() / n - entropy_weight * distribution.entropy(at) / n +
         add_value(rows, 1, gradient.last(static_cast<std::size_t>(agent_.width())));
}

double ActorCriticLoss::proximal(const Minibatch& rows, const PpoOptions& options, std::span<double> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  const ScoreColumns at = score(rows);
  const auto n = static_cast<double>(rows.contexts.rows);
  ScoreGradient by_scores{score_gradient_.data()};
  agent_.distribution().log_probability(at, rows.actions, log_probability_.data());
  const double surrogate = clipped_surrogate({log_probability_.data(), static_cast<std::size_t>(at.rows)},
                                             rows.old_log_probability, rows.advantages, options.clip, weights_.data());
  weights_ *= -1 / n;
  agent_.distribution().add_log_gradient(at, rows.actions, weights_.data(), by_scores);
  finish(rows, by_scores, gradient);
  return -surrogate / n +
         add_value(rows, options.value_weight, gradient.last(static_cast<std::size_t>(agent_.width())));
}

double ActorCriticLoss::value(const Minibatch& rows, std::span<double> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  return add_value(rows, 1, gradient);
}

}  // namespace scrm
