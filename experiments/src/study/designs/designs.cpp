#include "study/designs/designs.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace scrm {
namespace {

// A bound that a weight must not pass by rounding.
constexpr double kRounding = 1e-9;

constexpr double kFewActions[] = {0.4, 0.3, 0.15, 0.1, 0.05};

double normal_density(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}

int draw_action(const std::vector<double>& chances, RandomStream& stream) {
  double left = stream.uniform();
  std::size_t action = 0;
  while (action + 1 < chances.size() && left >= chances[action]) left -= chances[action++];
  return static_cast<int>(action);
}

}  // namespace

ActionChances few_actions() {
  return {{std::begin(kFewActions), std::end(kFewActions)}, std::vector<double>(std::size(kFewActions), 0.2)};
}

StudyDesign zero_one_design(ActionChances chances, const std::function<double(int)>& chance) {
  StudyDesign design = categorical_design(
      std::move(chances),
      [chance](int action, RandomStream& stream) { return stream.uniform() < chance(action) ? 1.0 : 0.0; }, chance);
  design.outcome_range = OutcomeRange{0, 1};
  return design;
}

StudyDesign categorical_design(ActionChances chances, std::function<double(int, RandomStream&)> loss,
                               const std::function<double(int)>& mean) {
  StudyDesign design;
  design.num_actions = static_cast<int>(chances.logging.size());
  double largest = 0;
  for (std::size_t k = 0; k < chances.logging.size(); ++k) {
    design.value += chances.target[k] * mean(static_cast<int>(k));
    design.logged_mean += chances.logging[k] * mean(static_cast<int>(k));
    largest = std::max(largest, chances.target[k] / chances.logging[k]);
  }
  design.max_weight = largest * (1 + kRounding);
  design.draw = [chances = std::move(chances), loss = std::move(loss)](RandomStream& stream, std::int64_t, Actor actor,
                                                                       DrawnRow& row) {
    row.category = draw_action(actor == Actor::logging ? chances.logging : chances.target, stream);
    const auto action = static_cast<std::size_t>(row.category);
    row.propensity = chances.logging[action];
    row.target = chances.target[action];
    row.loss = loss(row.category, stream);
  };
  return design;
}

StudyDesign gaussian_shift(double shift, double level) {
  StudyDesign design;
  design.action_kind = ActionKind::continuous;
  design.value = level + shift / 2;
  design.logged_mean = level;
  design.draw = [shift, level](RandomStream& stream, std::int64_t, Actor actor, DrawnRow& row) {
    row.action = stream.normal() + (actor == Actor::target ? shift : 0);
    row.propensity = normal_density(row.action);
    row.target = normal_density(row.action - shift);
    row.loss = level + (row.action + stream.normal()) / 2;
  };
  return design;
}

StudyDesign rare_outcomes(double rate, bool logged_target) {
  constexpr int kActions = 40;
  ActionChances chances;
  double total = 0;
  for (int k = 1; k <= kActions; ++k) total += 1.0 / k;
  for (int k = 1; k <= kActions; ++k) chances.logging.push_back(1.0 / k / total);
  chances.target = logged_target ? chances.logging : std::vector<double>(kActions, 1.0 / kActions);
  return zero_one_design(std::move(chances), [rate](int action) { return rate * (0.5 + action / (kActions - 1.0)); });
}

StudyDesign little_exploration(double rate, bool one_item) {
  constexpr int kItems = 10;
  ActionChances chances{std::vector<double>(kItems, 0.01), std::vector<double>(kItems, one_item ? 0.0 : 0.1)};
  chances.logging.front() = 0.91;
  if (one_item) chances.target.back() = 1;
  return zero_one_design(std::move(chances), [rate](int item) { return item == 0 ? rate / 2 : rate; });
}

StudyDesign heavy_losses(const std::function<double(RandomStream&)>& draw, double mean) {
  const auto scale = [](int action) { return 1 + action / 4.0; };
  return categorical_design(
      few_actions(), [draw, scale](int action, RandomStream& stream) { return scale(action) * draw(stream); },
      [mean, scale](int action) { return scale(action) * mean; });
}

StudyDesign shifted_labels(int labels, double shift) {
  constexpr double kRelevant = 0.7;  // chance of a bit that should be set
  const auto logging = [](int k) { return 0.3 + 0.05 * k; };
  const auto miss = [](double set) { return set * (1 - kRelevant) + (1 - set) * kRelevant; };
  StudyDesign design;
  design.action_kind = ActionKind::multilabel;
  design.num_actions = labels;
  design.estimators = {"ips", "snips", "additive"};
  design.outcome_range = OutcomeRange{0, 1};
  design.policy = Policy{.kind = PolicyKind::multilabel, .outputs = labels, .theta = {}};
  double largest = 1;
  for (int k = 0; k < labels; ++k) {
    const double p = logging(k), q = p + shift;
    design.policy->theta.push_back(std::log(q / (1 - q)));
    design.value += miss(q) / labels;
    design.logged_mean += miss(p) / labels;
    largest *= std::max(q / p, (1 - q) / (1 - p));
  }
  design.max_weight = largest * (1 + kRounding);
  design.draw = [logging, labels, shift](RandomStream& stream, std::int64_t, Actor actor, DrawnRow& row) {
    row.propensity = row.target = 1;
    row.loss = 0;
    for (int k = 0; k < labels; ++k) {
      const auto label = static_cast<std::size_t>(k);
      const double p = logging(k), q = p + shift;
      const bool set = stream.uniform() < (actor == Actor::logging ? p : q);
      const bool relevant = stream.uniform() < kRelevant;
      row.bits[label] = set;
      row.label_propensity[label] = set ? p : 1 - p;
      row.propensity *= row.label_propensity[label];
      row.target *= set ? q : 1 - q;
      row.loss += set != relevant ? 1.0 / labels : 0;
    }
    row.loss = std::min(row.loss, 1.0);  // all of them, whatever they round to
  };
  return design;
}

StudyDesign wrong_propensities() {
  constexpr double kTooLarge = 1.2;
  StudyDesign design = categorical_design(
      few_actions(), [](int action, RandomStream& stream) { return action / 4.0 + stream.normal(); },
      [](int action) { return action / 4.0; });
  design.right_propensities = false;
  design.draw = [draw = design.draw](RandomStream& stream, std::int64_t at, Actor actor, DrawnRow& row) {
    draw(stream, at, actor, row);
    row.propensity *= kTooLarge;
  };
  return design;
}

StudyDesign clustered_rows() {
  constexpr std::int64_t kClusterRows = 20;
  StudyDesign design = categorical_design(
      few_actions(), [](int action, RandomStream& stream) { return action / 4.0 + stream.normal(); },
      [](int action) { return action / 4.0; });
  design.clustered = true;
  design.draw = [draw = design.draw](RandomStream& stream, std::int64_t at, Actor actor, DrawnRow& row) {
    if (at % kClusterRows == 0) row.shared = stream.normal();
    row.cluster = at / kClusterRows;
    draw(stream, at, actor, row);
    row.loss += row.shared;
  };
  return design;
}

}  // namespace scrm
