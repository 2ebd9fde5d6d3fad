#include "study/designs/unseen_designs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "study/designs/context_design.hpp"

namespace scrm {
namespace {

/// How the policy that logs and the target explore: both take the best action of a context, each with another idea of
/// it in the share `disagree` of the contexts, but for a share of uniform actions.
struct Exploration {
  int actions = 0;
  double logging = 0, target = 0, disagree = 0;
};

/// Losses of actions are `mean` (1/2 to 3/2 of it, by chance), as `noise` draws them.
StudyDesign exploring_design(const Exploration& explore, double mean, Noise noise) {
  constexpr int kContexts = 100;
  Contexts all;
  RandomStream stream(15, 2, static_cast<std::uint64_t>(explore.actions));
  const auto count = static_cast<std::size_t>(explore.actions);
  const auto any_action = [&] { return static_cast<std::size_t>(stream.uniform() * explore.actions); };
  for (int c = 0; c < kContexts; ++c) {
    ActionChances chances{std::vector<double>(count, explore.logging / explore.actions),
                          std::vector<double>(count, explore.target / explore.actions)};
    const std::size_t best = any_action(), other = any_action();
    chances.logging[best] += 1 - explore.logging;
    chances.target[c < explore.disagree * kContexts ? other : best] += 1 - explore.target;
    all.chances.push_back(std::move(chances));
    std::vector<double>& means = all.means.emplace_back();
    for (std::size_t a = 0; a < count; ++a) means.push_back(mean * (0.5 + stream.uniform()));
  }
  return context_design(std::move(all), std::move(noise));
}

/// Rewards (losses below zero) of lognormal size in this share of the rows, none in the others.
Noise revenue_noise(double buyers, double sigma) {
  return [=](double mean, RandomStream& stream) {
    if (!(stream.uniform() < buyers)) return 0.0;
    return mean / buyers * std::exp(sigma * stream.normal() - sigma * sigma / 2);
  };
}

double click_noise(double mean, RandomStream& stream) {
  return stream.uniform() < -mean ? -1 : 0;
}

/// Contexts x and actions x/2 + N(0, 1), in the target `shift` more; so actions are N(0, 5/4), and the target's around
/// `shift`. The loss is drawn from the action.
StudyDesign shifted_actions(double shift, std::function<double(double action, RandomStream&)> loss,
                            const std::function<double(double centre)>& mean) {
  const auto density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); };
  StudyDesign design;
  design.action_kind = ActionKind::continuous;
  design.value = mean(shift);
  design.logged_mean = mean(0);
  design.draw = [=, loss = std::move(loss)](RandomStream& stream, std::int64_t, Actor actor, DrawnRow& row) {
    const double centre = stream.normal() / 2;
    row.action = centre + stream.normal() + (actor == Actor::target ? shift : 0);
    row.propensity = density(row.action - centre);
    row.target = density(row.action - centre - shift);
    row.loss = loss(row.action, stream);
  };
  return design;
}

constexpr double kActionSquare = 1.25;  // variance of the actions

double upper_tail(double x) {
  return std::erfc(x / std::numbers::sqrt2) / 2;
}

/// Users come one after the other with a number of rows and an effect of their own, `size` and `effect`; in each row
/// one of five actions.
StudyDesign users_design(std::function<int(RandomStream&)> size, std::function<double(RandomStream&)> effect,
                         double effect_mean, std::function<double(double effect, int action, RandomStream&)> loss,
                         const std::function<double(double effect, int action)>& mean) {
  StudyDesign design = categorical_design(
      few_actions(), [](int, RandomStream&) { return 0.0; }, [=](int action) { return mean(effect_mean, action); });
  design.clustered = true;
  design.draw = [=, draw = design.draw](RandomStream& stream, std::int64_t at, Actor actor, DrawnRow& row) {
    if (at == 0) {
      row.cluster = -1;
      row.cluster_left = 0;
    }
    if (row.cluster_left == 0) {
      ++row.cluster;
      row.cluster_left = size(stream);
      row.shared = effect(stream);
    }
    --row.cluster_left;
    draw(stream, at, actor, row);
    row.loss = loss(row.shared, row.category, stream);
  };
  return design;
}

/// Independent bits, by turns likelier and less likely by `shift` in the target. The loss is the share of wrong bits,
/// or whether any is wrong.
StudyDesign turning_bits(int labels, double shift, bool any) {
  constexpr double kRelevant = 0.8;
  const auto logging = [](int k) { return 0.25 + 0.1 * (k % 6); };
  const auto target = [=](int k) { return logging(k) + (k % 2 == 0 ? shift : -shift); };
  const auto miss = [](double set) { return set * (1 - kRelevant) + (1 - set) * kRelevant; };
  StudyDesign design;
  design.action_kind = ActionKind::multilabel;
  design.num_actions = labels;
  design.policy = Policy{.kind = PolicyKind::multilabel, .outputs = labels, .theta = {}};
  double right = 1, logged_right = 1, wrong = 0, logged_wrong = 0;
  for (int k = 0; k < labels; ++k) {
    const double p = logging(k), q = target(k);
    design.policy->theta.push_back(std::log(q / (1 - q)));
    right *= 1 - miss(q);
    logged_right *= 1 - miss(p);
    wrong += miss(q) / labels;
    logged_wrong += miss(p) / labels;
  }
  design.value = any ? 1 - right : wrong;
  design.logged_mean = any ? 1 - logged_right : logged_wrong;
  design.draw = [=](RandomStream& stream, std::int64_t, Actor actor, DrawnRow& row) {
    row.propensity = row.target = 1;
    int missed = 0;
    for (int k = 0; k < labels; ++k) {
      const auto label = static_cast<std::size_t>(k);
      const double p = logging(k), q = target(k);
      const bool set = stream.uniform() < (actor == Actor::logging ? p : q);
      missed += set != (stream.uniform() < kRelevant);
      row.bits[label] = set;
      row.label_propensity[label] = set ? p : 1 - p;
      row.propensity *= row.label_propensity[label];
      row.target *= set ? q : 1 - q;
    }
    row.loss = any ? (missed > 0 ? 1 : 0) : static_cast<double>(missed) / labels;
  };
  return design;
}

class UnseenDesigns {
 public:
  void add(std::string name, std::string description, StudyDesign design, bool many = false) {
    design.name = std::move(name);
    design.description = std::move(description);
    design.rows = {50, 200, 1'000, 5'000, 10'000};
    if (many) design.rows.push_back(100'000);
    design.estimators = {"ips", "clipped", "snips", "ips-ix"};
    design.outcome_range.reset();
    design.max_weight.reset();
    all.push_back(std::move(design));
  }
  std::vector<StudyDesign> all;
};

void add_clicks(UnseenDesigns& designs) {
  designs.add("greedy-5-same", "5 actions, greedy but for 20 % and 5 % in the target, rate 5 %",
              exploring_design({5, 0.2, 0.05, 0}, 0.05, zero_one_noise));
  designs.add("greedy-5-half", "5 actions, greedy but for 10 %, the target disagrees in half of the contexts, rate 1 %",
              exploring_design({5, 0.1, 0.1, 0.5}, 0.01, zero_one_noise));
  designs.add("greedy-40-uniform", "40 actions, greedy but for 30 %, uniform target, clicks as rewards in 2 %",
              exploring_design({40, 0.3, 1, 0}, -0.02, click_noise), true);
  designs.add("greedy-40-sure", "40 actions, greedy but for 20 % and not at all in the target, rate 0.3 %",
              exploring_design({40, 0.2, 0, 0}, 0.003, zero_one_noise));
  designs.add("greedy-200-other", "200 actions, greedy but for half and a fifth, disagreeing in 20 %, rate 5 %",
              exploring_design({200, 0.5, 0.2, 0.2}, 0.05, zero_one_noise));
  designs.add("greedy-200-little", "200 actions, greedy but for 20 %, disagreeing in 2 %, rate 1 %",
              exploring_design({200, 0.2, 0.2, 0.02}, 0.01, zero_one_noise));
}

void add_shifts(UnseenDesigns& designs) {
  designs.add("shift-0.3", "gaussian actions, target 0.3 away, loss |a|",
              shifted_actions(
                  0.3, [](double a, RandomStream&) { return std::abs(a); },
                  [](double m) {  // folded normal
                    return std::sqrt(2 * kActionSquare / std::numbers::pi) * std::exp(-m * m / (2 * kActionSquare)) +
                           m * (1 - 2 * upper_tail(m / std::sqrt(kActionSquare)));
                  }));
  designs.add("shift-0.6", "gaussian actions, target 0.6 away, loss 1 where a plus noise is above 2.5",
              shifted_actions(
                  0.6, [](double a, RandomStream& s) { return a + s.normal() > 2.5 ? 1.0 : 0.0; },
                  [](double m) { return upper_tail((2.5 - m) / std::sqrt(kActionSquare + 1)); }));
  designs.add("shift-0.9", "gaussian actions, target 0.9 away, loss exp(a / 2)",
              shifted_actions(
                  0.9, [](double a, RandomStream&) { return std::exp(a / 2); },
                  [](double m) { return std::exp(m / 2 + kActionSquare / 8); }));
  designs.add("shift-1.2", "gaussian actions, target 1.2 away, loss a^2 plus noise",
              shifted_actions(
                  1.2, [](double a, RandomStream& s) { return a * a + s.normal(); },
                  [](double m) { return m * m + kActionSquare; }));
  designs.add("shift-1.5", "gaussian actions, target 1.5 away, loss -a plus noise",
              shifted_actions(
                  1.5, [](double a, RandomStream& s) { return 2 * s.normal() - a; }, [](double m) { return -m; }));
}

void add_revenue(UnseenDesigns& designs) {
  designs.add("revenue-0.02",
              "5 actions, greedy but for 20 %, disagreeing in half; 2 % buy for lognormal sums, sigma 1",
              exploring_design({5, 0.2, 0.2, 0.5}, -1, revenue_noise(0.02, 1)), true);
  designs.add("revenue-0.1", "40 actions, greedy but for half and 10 %; a tenth buys for lognormal sums, sigma 1.5",
              exploring_design({40, 0.5, 0.1, 0}, -1, revenue_noise(0.1, 1.5)));
  designs.add("revenue-0.3", "5 actions, uniform, greedy target; 30 % buy for lognormal sums, sigma 0.7",
              exploring_design({5, 1, 0, 0}, -1, revenue_noise(0.3, 0.7)));
}

void add_users(UnseenDesigns& designs) {
  const auto linear = [](double effect, int action) { return effect + action / 4.0; };
  const auto noisy = [linear](double effect, int action, RandomStream& s) {
    return linear(effect, action) + s.normal();
  };
  const auto normal = [](RandomStream& s) { return s.normal(); };
  designs.add(
      "users-geometric", "users of 8 rows on average, geometrically, share a normal effect",
      users_design([](RandomStream& s) { return 1 + static_cast<int>(std::log(s.uniform()) / std::log(0.875)); },
                   normal, 0, noisy, linear));
  designs.add(
      "users-lognormal", "users of lognormal numbers of rows, 7 on average, share a normal effect",
      users_design([](RandomStream& s) { return std::min(1 + static_cast<int>(std::exp(1.3 + s.normal())), 200); },
                   normal, 0, noisy, linear));
  const auto rate = [](double effect, int action) { return effect * (1 + action / 4.0); };
  designs.add("users-clicks", "users of 1 to 30 rows, a fifth of whom click ten times as often as the others, in 1 %",
              users_design([](RandomStream& s) { return 1 + static_cast<int>(30 * s.uniform()); },
                           [](RandomStream& s) { return s.uniform() < 0.2 ? 0.1 : 0.01; }, 0.028,
                           [rate](double effect, int action, RandomStream& s) {
                             return s.uniform() < rate(effect, action) ? 1.0 : 0.0;
                           },
                           rate));
}

void add_bits(UnseenDesigns& designs) {
  designs.add("bits-6", "6 bits, likelier and less likely by 0.15, loss 1 where any is wrong",
              turning_bits(6, 0.15, true));
  for (const int labels : {10, 14}) {
    designs.add(fmt::format("bits-{}", labels),
                fmt::format("{} bits, likelier and less likely by 0.1, Hamming loss", labels),
                turning_bits(labels, 0.1, false));
    designs.all.back().estimators.emplace_back("additive");
  }
}

}  // namespace

std::vector<StudyDesign> make_unseen_designs() {
  UnseenDesigns designs;
  add_clicks(designs);
  add_shifts(designs);
  add_revenue(designs);
  add_users(designs);
  add_bits(designs);
  return std::move(designs.all);
}

}  // namespace scrm
