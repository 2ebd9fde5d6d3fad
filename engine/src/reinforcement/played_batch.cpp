#include "reinforcement/played_batch.hpp"

#include <algorithm>

#include "reinforcement/losses.hpp"

namespace scrm {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Rewards spread by about 1: what differs by less is the same.
constexpr double kRounding = 1e-10;

/// Of two rewards or more.
bool equal(const std::vector<double>& rewards) {
  const auto [least, most] = std::minmax_element(rewards.begin(), rewards.end());
  return rewards.size() > 1 && *most - *least <= kRounding;
}

}  // namespace

PlayedBatch::PlayedBatch(const Episodes& episodes, const ActorCritic& agent, bool normalize_advantages)
    : episodes_(episodes),
      distribution_(agent.distribution()),
      actions_(Eigen::Map<const RowMajor>(episodes.actions.data(), episodes.rows(), episodes.action_width)),
      scores_(scores(agent.actor())),
      log_scale_(agent.log_scale()),
      old_log_probability_(episodes.rewards.size()),
      advantages_(episodes.rewards) {
  const Eigen::MatrixXd of_rows = repeat_rows(scores_, episodes.replays);
  distribution_.log_probability({of_rows.data(), of_rows.rows(), log_scale_}, actions_.data(),
                                old_log_probability_.data());
  if (equal(episodes.rewards)) {
    // They say nothing about actions: what the critic is off by would be taken, normalized, for advantages.
    std::fill(advantages_.begin(), advantages_.end(), 0.0);
  } else {
    Eigen::MatrixXd values;
    linear_scores(contexts(), agent.critic(), values);
    for (std::int64_t i = 0; i < episodes.rows(); ++i) {
      advantages_[static_cast<std::size_t>(i)] -= values(i / episodes.replays, 0);
    }
  }
  normalized_ = advantages_;
  if (normalize_advantages) normalize(normalized_);
}

Eigen::MatrixXd PlayedBatch::scores(std::span<const double> actor) const {
  Eigen::MatrixXd out;
  linear_scores(contexts(), actor.first(static_cast<std::size_t>(distribution_.outputs() * episodes_.width)), out);
  return out;
}

double PlayedBatch::surrogate(const ActorCritic& agent, double clip) const {
  const Eigen::MatrixXd of_rows = repeat_rows(scores(agent.actor()), episodes_.replays);
  std::vector<double> log_probability(normalized_.size()), weights(normalized_.size());
  distribution_.log_probability({of_rows.data(), of_rows.rows(), agent.log_scale()}, actions_.data(),
                                log_probability.data());
  return clipped_surrogate(log_probability, old_log_probability_.data(), normalized_.data(), clip, weights.data()) /
         static_cast<double>(episodes_.rows());
}

std::vector<double> PlayedBatch::surrogate_gradient() const {
  const Eigen::MatrixXd of_rows = repeat_rows(scores_, episodes_.replays);
  Eigen::MatrixXd by_scores = Eigen::MatrixXd::Zero(of_rows.rows(), of_rows.cols());
  ScoreGradient gradient{by_scores.data()};
  const Eigen::VectorXd weights =
      Eigen::Map<const Eigen::VectorXd>(normalized_.data(), by_scores.rows()) / static_cast<double>(episodes_.rows());
  distribution_.add_log_gradient({of_rows.data(), of_rows.rows(), log_scale_}, actions_.data(), weights.data(),
                                 gradient);
  std::vector<double> out(static_cast<std::size_t>(scores_.cols() * episodes_.width));
  add_weight_gradient(contexts(), sum_rows(by_scores, episodes_.replays), out);
  if (distribution_.has_scale()) out.push_back(gradient.log_scale);
  return out;
}

double PlayedBatch::divergence(const ActorCritic& agent) const {
  const Eigen::MatrixXd now = scores(agent.actor());
  return distribution_.divergence(old_policy(), {now.data(), now.rows(), agent.log_scale()}) /
         static_cast<double>(now.rows());
}

void PlayedBatch::fisher_product(std::span<const double> direction, std::span<double> out) const {
  Eigen::MatrixXd moved = scores(direction);
  distribution_.fisher_product(old_policy(), moved.data());
  moved /= static_cast<double>(moved.rows());
  std::fill(out.begin(), out.end(), 0.0);
  add_weight_gradient(contexts(), moved, out);
  if (distribution_.has_scale()) out.back() = kLogScaleInformation * direction.back();
}

UpdateReport PlayedBatch::report(const ActorCritic& agent, double clip) const {
  const Eigen::MatrixXd now = scores(agent.actor());
  Eigen::MatrixXd values;
  linear_scores(contexts(), agent.critic(), values);
  double squares = 0;
  for (std::int64_t i = 0; i < episodes_.rows(); ++i) {
    const double error = episodes_.rewards[static_cast<std::size_t>(i)] - values(i / episodes_.replays, 0);
    squares += error * error;
  }
  return {
      .surrogate = surrogate(agent, clip),
      .kl = divergence(agent),
      .entropy = distribution_.entropy({now.data(), now.rows(), agent.log_scale()}) / static_cast<double>(now.rows()),
      .value_loss = squares / static_cast<double>(episodes_.rows())};
}

}  // namespace scrm
