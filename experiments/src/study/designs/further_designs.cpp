#include "study/designs/further_designs.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "study/designs/designs.hpp"

namespace scrm {
namespace {

double normal_density(double x, double deviation) {
  return std::exp(-x * x / (2 * deviation * deviation)) / (deviation * std::sqrt(2 * std::numbers::pi));
}

double pareto(RandomStream& stream, double shape) {
  return std::pow(stream.uniform(), -1 / shape);
}

/// Action k of `actions` is logged in proportion to ratio^k; outcomes 0 or 1, `rate` on average over the actions;
/// uniform target.
StudyDesign geometric_logger(int actions, double ratio, double rate) {
  ActionChances chances;
  double total = 0;
  for (int k = 0; k < actions; ++k) total += std::pow(ratio, k);
  for (int k = 0; k < actions; ++k) chances.logging.push_back(std::pow(ratio, k) / total);
  chances.target.assign(static_cast<std::size_t>(actions), 1.0 / actions);
  return zero_one_design(std::move(chances),
                         [rate, actions](int action) { return rate * (0.5 + action / (actions - 1.0)); });
}

/// The first of the items is shown but for a chance of `share` for each of the others; `explored` is how much of the
/// target lies on the others.
StudyDesign explored_items(int items, double share, double explored, double rate) {
  ActionChances chances{std::vector<double>(static_cast<std::size_t>(items), share),
                        std::vector<double>(static_cast<std::size_t>(items), explored / (items - 1))};
  chances.logging.front() = 1 - share * (items - 1);
  chances.target.front() = 1 - explored;
  return zero_one_design(std::move(chances), [rate](int item) { return item == 0 ? 0.7 * rate : rate; });
}

/// Contexts x from N(0, 1), three actions with scores ±slope x and 0, the target's slope the other; outcomes 0 or 1
/// with chance rate · 2 / (1 + exp(−x (a − 1))), which averages to `rate`.
StudyDesign softmax_slopes(double logging, double target, double rate) {
  const auto chances = [](double x, double slope) {
    const std::array<double, 3> scores = {std::exp(-slope * x), 1, std::exp(slope * x)};
    const double total = scores[0] + scores[1] + scores[2];
    return std::array<double, 3>{scores[0] / total, scores[1] / total, scores[2] / total};
  };
  const auto chance = [rate](double x, int action) { return rate * 2 / (1 + std::exp(-x * (action - 1))); };
  StudyDesign design;
  design.num_actions = 3;
  design.outcome_range = OutcomeRange{0, 1};
  // The trapezoidal rule is exact to rounding for such integrands, whose poles are two or more away from the real line:
  // its error falls as exp(-2π 2 / step). Every command makes these designs, for its help.
  constexpr double kReach = 9, kStep = 1.0 / 16;
  for (double x = -kReach; x <= kReach; x += kStep) {
    const double density = normal_density(x, 1) * kStep;
    for (int a = 0; a < 3; ++a) {
      design.value += density * chances(x, target)[static_cast<std::size_t>(a)] * chance(x, a);
      design.logged_mean += density * chances(x, logging)[static_cast<std::size_t>(a)] * chance(x, a);
    }
  }
  design.draw = [=](RandomStream& stream, std::int64_t, Actor actor, DrawnRow& row) {
    const double x = stream.normal(), u = stream.uniform();
    const std::array<double, 3> logs = chances(x, logging), targets = chances(x, target);
    const std::array<double, 3>& acts = actor == Actor::logging ? logs : targets;
    row.category = u < acts[0] ? 0 : (u < acts[0] + acts[1] ? 1 : 2);
    row.propensity = logs[static_cast<std::size_t>(row.category)];
    row.target = targets[static_cast<std::size_t>(row.category)];
    row.loss = stream.uniform() < chance(x, row.category) ? 1 : 0;
  };
  return design;
}

/// Logging N(0, 1), target N(shift, deviation²), loss (a − 1)² plus standard normal noise.
StudyDesign gaussian_width(double shift, double deviation) {
  StudyDesign design;
  design.action_kind = ActionKind::continuous;
  design.value = (shift - 1) * (shift - 1) + deviation * deviation;
  design.logged_mean = 2;
  design.draw = [=](RandomStream& stream, std::int64_t, Actor actor, DrawnRow& row) {
    row.action = stream.normal();
    if (actor == Actor::target) row.action = shift + deviation * row.action;
    row.propensity = normal_density(row.action, 1);
    row.target = normal_density(row.action - shift, deviation);
    row.loss = (row.action - 1) * (row.action - 1) + stream.normal();
  };
  return design;
}

/// few_actions() with losses N(k/4, 1) and, with this chance, another 50: a catastrophe.
StudyDesign catastrophes(double chance) {
  return categorical_design(
      few_actions(),
      [chance](int action, RandomStream& stream) {
        return action / 4.0 + stream.normal() + (stream.uniform() < chance ? 50 : 0);
      },
      [chance](int action) { return action / 4.0 + 50 * chance; });
}

/// few_actions() with losses of 1 or −1, each in half of this share of the rows, and 0 otherwise.
StudyDesign rare_either_way(double share) {
  return categorical_design(
      few_actions(),
      [share](int, RandomStream& stream) {
        const double u = stream.uniform();
        return u < share / 2 ? -1.0 : (u < share ? 1.0 : 0.0);
      },
      [](int) { return 0.0; });
}

/// few_actions(), losses N(k/4, 1) plus an effect N(0, 1) of the cluster. A row begins a cluster with chance 1/rows (or
/// exactly every `rows`), and with `together` a cluster sticks to its first action.
StudyDesign clusters(int rows, bool at_random, bool together) {
  StudyDesign design = categorical_design(
      few_actions(), [](int action, RandomStream& stream) { return action / 4.0 + stream.normal(); },
      [](int action) { return action / 4.0; });
  design.clustered = true;
  design.draw = [=, draw = design.draw](RandomStream& stream, std::int64_t at, Actor actor, DrawnRow& row) {
    const bool begins = at == 0 || (at_random ? stream.uniform() < 1.0 / rows : at % rows == 0);
    if (at == 0) row.cluster = -1;
    if (begins) {
      row.shared = stream.normal();
      ++row.cluster;
    }
    const DrawnRow before = row;
    draw(stream, at, actor, row);
    if (together && !begins) {
      row.category = before.category;
      row.propensity = before.propensity;
      row.target = before.target;
      row.loss = before.category / 4.0 + stream.normal();
    }
    row.loss += row.shared;
  };
  return design;
}

class Designs {
 public:
  void add(std::string name, std::string description, StudyDesign design) {
    design.name = std::move(name);
    design.description = std::move(description);
    design.rows = {40, 300, 2'000, 10'000};
    all.push_back(std::move(design));
  }
  std::vector<StudyDesign> all;
};

void add_rare(Designs& designs) {
  for (const double rate : {0.002, 0.005, 0.02, 0.2}) {
    designs.add(fmt::format("geometric-40-{}", rate),
                fmt::format("click rate {:g} %, 40 actions logged in proportion to 0.84^k, uniform target", 100 * rate),
                geometric_logger(40, 0.84, rate));
  }
  designs.add("geometric-10-0.02", "click rate 2 %, 10 actions logged in proportion to 0.7^k, uniform target",
              geometric_logger(10, 0.7, 0.02));
  designs.add("geometric-200-0.1", "click rate 10 %, 200 actions logged in proportion to 0.98^k, uniform target",
              geometric_logger(200, 0.98, 0.1));
  for (const double rate : {0.02, 0.1, 0.5}) {
    designs.add(fmt::format("explored-uniform-{}", rate),
                fmt::format("click rate {:g} %, 20 items explored in 1 % each, uniform target", 100 * rate),
                explored_items(20, 0.01, 0.95, rate));
    designs.add(fmt::format("explored-half-{}", rate),
                fmt::format("click rate {:g} %, 5 items explored in 1 % each, half of the target on them", 100 * rate),
                explored_items(5, 0.01, 0.5, rate));
  }
  designs.add("explored-little-0.1", "click rate 10 %, 5 items explored in 2 % each, a tenth of the target on them",
              explored_items(5, 0.02, 0.1, 0.1));
  designs.add("sure-0.97", "outcomes of 1 in 97 % of the rows, 5 actions, uniform target",
              zero_one_design(few_actions(), [](int) { return 0.97; }));
  designs.add("coin-0.5", "outcomes of 1 in half of the rows, 5 actions, uniform target",
              zero_one_design(few_actions(), [](int action) { return 0.3 + action / 10.0; }));
  designs.add("either-way-0.02", "outcomes of 1 or -1 in 2 % of the rows, 0 in the others", rare_either_way(0.02));
}

void add_contexts(Designs& designs) {
  for (const double rate : {0.02, 0.3}) {
    designs.add(fmt::format("softmax-near-{}", rate),
                fmt::format("click rate {:g} %, softmax policies of slope 1 and 1.5", 100 * rate),
                softmax_slopes(1, 1.5, rate));
    designs.add(fmt::format("softmax-far-{}", rate),
                fmt::format("click rate {:g} %, softmax policies of slope 1 and -1", 100 * rate),
                softmax_slopes(1, -1, rate));
  }
}

void add_heavy(Designs& designs) {
  designs.add("exponential", "exponential losses, 5 actions",
              heavy_losses([](RandomStream& stream) { return -std::log(stream.uniform()); }, 1));
  for (const double sigma : {1.0, 2.0}) {
    designs.add(fmt::format("lognormal-{}", sigma), fmt::format("lognormal losses, sigma {}", sigma),
                heavy_losses([sigma](RandomStream& stream) { return std::exp(sigma * stream.normal()); },
                             std::exp(sigma * sigma / 2)));
  }
  for (const double shape : {1.5, 2.1, 3.0}) {
    designs.add(fmt::format("pareto-{}", shape), fmt::format("Pareto losses, shape {}", shape),
                heavy_losses([shape](RandomStream& stream) { return pareto(stream, shape); }, shape / (shape - 1)));
  }
  designs.add(
      "weibull-0.4", "Weibull losses, shape 0.4",
      heavy_losses([](RandomStream& stream) { return std::pow(-std::log(stream.uniform()), 2.5); }, std::tgamma(3.5)));
  designs.add("student-3", "losses of Student's distribution with 3 degrees of freedom",
              heavy_losses(
                  [](RandomStream& stream) {
                    const double a = stream.normal(), b = stream.normal(), c = stream.normal();
                    return 1 + stream.normal() / std::sqrt((a * a + b * b + c * c) / 3);
                  },
                  1));
  designs.add("revenue-pareto", "1 % of the rows have a Pareto loss of shape 2.2, the others none",
              heavy_losses([](RandomStream& stream) { return stream.uniform() < 0.01 ? pareto(stream, 2.2) : 0.0; },
                           0.01 * 2.2 / 1.2));
  designs.add("catastrophes-0.005",
              "normal losses, and 50 more in 0.5 % of the rows: nobody can know before one was seen",
              catastrophes(0.005));
}

void add_continuous(Designs& designs) {
  designs.add("narrow-0.5", "gaussian target half as wide, quadratic loss", gaussian_width(0, 0.5));
  designs.add("narrow-0.1", "gaussian target a tenth as wide, quadratic loss", gaussian_width(0, 0.1));
  designs.add("narrow-far", "gaussian target half as wide and 1.5 standard deviations away", gaussian_width(1.5, 0.5));
  designs.add("wide-1.2", "gaussian target 1.2 times as wide: weights without a fourth moment", gaussian_width(0, 1.2));
  designs.add("far-0.75", "gaussian target 0.75 standard deviations away, losses around 0", gaussian_shift(0.75, 0));
  designs.add("far-1.25", "gaussian target 1.25 standard deviations away, losses around -100",
              gaussian_shift(1.25, -100));
}

void add_others(Designs& designs) {
  designs.add("labels-4-0.05", "4 independent bits, each likelier by 0.05 in the target", shifted_labels(4, 0.05));
  designs.add("labels-4-0.25", "4 independent bits, each likelier by 0.25 in the target", shifted_labels(4, 0.25));
  designs.add("labels-8-0.25", "8 independent bits, each likelier by 0.25 in the target", shifted_labels(8, 0.25));
  designs.add("clusters-5", "5 rows that follow each other share an effect", clusters(5, false, false));
  designs.add("clusters-random", "clusters of 10 rows on average share an effect", clusters(10, true, false));
  designs.add("clusters-together", "10 rows share an effect and an action", clusters(10, false, true));
}

}  // namespace

std::vector<StudyDesign> make_further_designs() {
  Designs designs;
  add_rare(designs);
  add_contexts(designs);
  add_heavy(designs);
  add_continuous(designs);
  add_others(designs);
  return std::move(designs.all);
}

}  // namespace scrm
