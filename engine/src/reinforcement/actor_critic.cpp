#include "scrm/engine/reinforcement/actor_critic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reinforcement/actions/action_distribution.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

std::shared_ptr<const ActionDistribution> distribution_of(const Policy& policy) {
  if (policy.features != FeatureMap::linear) {
    throw Error(ErrorKind::usage, "actors are linear in the features, and this policy has their products too");
  }
  if (policy.kind == PolicyKind::gaussian) return make_gaussian_actions();
  if (policy.kind == PolicyKind::softmax) return make_softmax_actions(policy.outputs, policy.epsilon);
  if (policy.kind != PolicyKind::multilabel) {
    throw Error(ErrorKind::usage,
                fmt::format("actors are gaussian, softmax or multilabel policies, and learning starts "
                            "from a {} policy here",
                            policy.kind.name()));
  }
  if (policy.mixing == Mixing::joint && policy.epsilon > 0) {
    throw Error(ErrorKind::usage,
                "mixing = \"joint\" makes bits depend on each other, which actors of independent bits cannot follow; "
                "use mixing = \"label\" or epsilon = 0");
  }
  return make_bit_actions(policy.outputs, policy.epsilon);
}

}  // namespace

ActorCritic::ActorCritic(const Policy& start, EpisodeUnits units)
    : like_(start),
      units_(std::move(units)),
      width_(1 + std::ssize(units_.features)),
      distribution_(distribution_of(start)) {
  const std::int64_t scores = distribution_->outputs() * width_;
  if (std::ssize(start.theta) != scores) {
    throw Error(ErrorKind::usage, fmt::format("the policy has {} parameters, and rows of {} features want {}",
                                              start.theta.size(), width_ - 1, scores));
  }
  parameters_.assign(static_cast<std::size_t>(scores + (distribution_->has_scale() ? 1 : 0) + width_), 0.0);
  set_actor(start);
}

double ActorCritic::log_scale() const noexcept {
  return distribution_->has_scale() ? actor().back() : 0.0;
}

void ActorCritic::set_actor(const Policy& policy) {
  for (std::int64_t k = 0; k < distribution_->outputs(); ++k) {
    const double* theta = policy.theta.data() + k * width_;
    double* weights = parameters_.data() + k * width_;
    weights[0] = theta[0] - units_.action.centre;
    for (std::int64_t j = 1; j < width_; ++j) {
      const ColumnUnit& unit = units_.features[static_cast<std::size_t>(j - 1)];
      weights[0] += theta[j] * unit.centre;
      weights[j] = theta[j] * unit.spread;
    }
    for (std::int64_t j = 0; j < width_; ++j) weights[j] /= units_.action.spread;
  }
  if (distribution_->has_scale()) {
    parameters_[static_cast<std::size_t>(actor_size() - 1)] = std::log(policy.scale / units_.action.spread);
  }
}

Policy ActorCritic::policy() const {
  Policy out = like_;
  for (std::int64_t k = 0; k < distribution_->outputs(); ++k) {
    const double* weights = parameters_.data() + k * width_;
    double* theta = out.theta.data() + k * width_;
    theta[0] = weights[0];
    for (std::int64_t j = 1; j < width_; ++j) {
      const ColumnUnit& unit = units_.features[static_cast<std::size_t>(j - 1)];
      theta[j] = units_.action.spread * weights[j] / unit.spread;
      theta[0] -= weights[j] * unit.centre / unit.spread;
    }
    theta[0] = units_.action.centre + units_.action.spread * theta[0];
  }
  if (distribution_->has_scale()) out.scale = units_.action.spread * std::exp(log_scale());
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(parameters_.begin(), parameters_.end(), finite) ||
      !std::all_of(out.theta.begin(), out.theta.end(), finite)) {
    throw Error(ErrorKind::run, "the actor's parameters have grown beyond all numbers; use a smaller learning rate");
  }
  if (distribution_->has_scale() && !(out.scale > 0 && std::isfinite(out.scale))) {
    throw Error(ErrorKind::run,
                fmt::format("the actor's standard deviation has become {}; use a smaller learning rate", out.scale));
  }
  return out;
}

}  // namespace scrm
