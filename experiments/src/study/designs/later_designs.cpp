#include "study/designs/later_designs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "study/designs/context_design.hpp"
#include "study/designs/designs.hpp"

namespace scrm {
namespace {

int poisson(double mean, RandomStream& stream) {
  int count = 0;
  for (double left = std::exp(-mean), product = stream.uniform(); product > left; product *= stream.uniform()) ++count;
  return count;
}

double poisson_noise(double mean, RandomStream& stream) {
  return poisson(mean, stream);
}

double gamma_half(RandomStream& stream) {  // shape 1/2, mean 1
  const double z = stream.normal();
  return z * z;
}

std::vector<double> softmax_of(const std::vector<double>& scores, double temperature) {
  std::vector<double> out;
  double total = 0;
  for (const double score : scores) total += out.emplace_back(std::exp(score / temperature));
  for (double& chance : out) chance /= total;
  return out;
}

/// 500 contexts with scores N(0, 1) for each action; both policies are softmaxes of them.
StudyDesign temperature_design(int actions, double logging, double target, const std::function<double(double)>& mean,
                               Noise noise) {
  constexpr int kContexts = 500;
  Contexts all;
  RandomStream stream(11, 1, static_cast<std::uint64_t>(actions));
  for (int c = 0; c < kContexts; ++c) {
    std::vector<double> scores, means;
    for (int a = 0; a < actions; ++a) means.push_back(mean(scores.emplace_back(stream.normal())));
    all.chances.push_back({softmax_of(scores, logging), softmax_of(scores, target)});
    all.means.push_back(std::move(means));
  }
  return context_design(std::move(all), std::move(noise));
}

/// Greedy in both policies but for a share of uniform actions; they disagree in this share of the contexts.
StudyDesign epsilon_design(int actions, double logging, double target, double disagree, double rate) {
  constexpr int kContexts = 200;
  Contexts all;
  for (int c = 0; c < kContexts; ++c) {
    const auto best = static_cast<std::size_t>(c % actions);
    const bool other = c < disagree * kContexts;
    ActionChances chances{std::vector<double>(static_cast<std::size_t>(actions), logging / actions),
                          std::vector<double>(static_cast<std::size_t>(actions), target / actions)};
    chances.logging[best] += 1 - logging;
    chances.target[other ? (best + 1) % static_cast<std::size_t>(actions) : best] += 1 - target;
    std::vector<double> means;
    for (int a = 0; a < actions; ++a) means.push_back(rate * (0.5 + static_cast<double>(a) / actions));
    all.chances.push_back(std::move(chances));
    all.means.push_back(std::move(means));
  }
  return context_design(std::move(all), zero_one_noise);
}

/// In a share of the rows the target takes the last of five actions, which is logged with chance 0.2; else it is the
/// policy that logs.
StudyDesign subgroup_design(double share, double rate, const Noise& noise) {
  constexpr int kContexts = 100;
  Contexts all;
  for (int c = 0; c < kContexts; ++c) {
    ActionChances chances{std::vector<double>(5, 0.2), std::vector<double>(5, 0.2)};
    if (c < share * kContexts) chances.target = {0, 0, 0, 0, 1};
    all.chances.push_back(std::move(chances));
    all.means.emplace_back(5, c < share * kContexts ? 2 * rate : rate);
  }
  return context_design(std::move(all), noise);
}

/// Two actions; the second is logged with a chance spread evenly over [least, 1], and the target always takes it.
StudyDesign spread_propensities(double least, const std::function<double(double)>& mean, const Noise& noise) {
  constexpr int kContexts = 1000;
  Contexts all;
  for (int c = 0; c < kContexts; ++c) {
    const double p = least + (1 - least) * (c + 0.5) / kContexts;
    all.chances.push_back({{1 - p, p}, {0, 1}});
    all.means.push_back({mean(1 - p), mean(p)});
  }
  return context_design(std::move(all), noise);
}

/// `actions` logged uniformly, the target always takes the first.
ActionChances one_of(int actions) {
  const auto count = static_cast<std::size_t>(actions);
  ActionChances chances{std::vector<double>(count, 1.0 / actions), std::vector<double>(count, 0.0)};
  chances.target.front() = 1;
  return chances;
}

/// The same; every other action has half the mean.
StudyDesign one_of_uniform(int actions, double mean, const Noise& noise) {
  const auto own = [mean](int action) { return action % 2 == 1 ? mean / 2 : mean; };
  return categorical_design(
      one_of(actions), [own, noise](int action, RandomStream& stream) { return noise(own(action), stream); }, own);
}

/// Two actions, the second logged with chance p and taken with chance q.
StudyDesign two_actions(double p, double q, double mean, const Noise& noise) {
  return categorical_design(
      {{1 - p, p}, {1 - q, q}},
      [mean, noise](int action, RandomStream& stream) { return noise(action ? mean : mean / 2, stream); },
      [mean](int action) { return action ? mean : mean / 2; });
}

/// Logging N(0, wide²), target N(shift, narrow²), loss of a bounded function of the action plus noise.
StudyDesign smooth_actions(double shift, double narrow, double wide, const std::function<double(double)>& mean,
                           double noise) {
  const auto density = [](double x, double deviation) {
    return std::exp(-x * x / (2 * deviation * deviation)) / (deviation * std::sqrt(2 * std::numbers::pi));
  };
  StudyDesign design;
  design.action_kind = ActionKind::continuous;
  constexpr int kSteps = 40'000;
  constexpr double kReach = 10;
  for (int i = 0; i <= kSteps; ++i) {
    const double z = -kReach + 2 * kReach * i / kSteps, weight = density(z, 1) * 2 * kReach / kSteps;
    design.value += weight * mean(shift + narrow * z);
    design.logged_mean += weight * mean(wide * z);
  }
  design.draw = [=](RandomStream& stream, std::int64_t, Actor actor, DrawnRow& row) {
    const double z = stream.normal();
    row.action = actor == Actor::target ? shift + narrow * z : wide * z;
    row.propensity = density(row.action, wide);
    row.target = density(row.action - shift, narrow);
    row.loss = mean(row.action) + noise * stream.normal();
  };
  return design;
}

/// Rows are dealt to a fixed number of clusters, to cluster c in proportion to 1/(c + 1)^unequal, each with an effect.
StudyDesign dealt_clusters(int clusters, double unequal, const std::function<double(RandomStream&)>& effect,
                           double effect_mean, double noise) {
  StudyDesign design = categorical_design(
      few_actions(), [noise](int action, RandomStream& stream) { return action / 4.0 + noise * stream.normal(); },
      [](int action) { return action / 4.0; });
  design.value += effect_mean;
  design.logged_mean += effect_mean;
  design.clustered = true;
  std::vector<double> shares;
  double total = 0;
  for (int c = 0; c < clusters; ++c) total += shares.emplace_back(std::pow(c + 1, -unequal));
  design.draw = [=, draw = design.draw](RandomStream& stream, std::int64_t at, Actor actor, DrawnRow& row) {
    if (at == 0) row.shared = stream.uniform();
    double left = stream.uniform() * total;
    int cluster = 0;
    while (cluster + 1 < clusters && left >= shares[static_cast<std::size_t>(cluster)])
      left -= shares[static_cast<std::size_t>(cluster++)];
    row.cluster = cluster;
    draw(stream, at, actor, row);
    RandomStream own(std::bit_cast<std::uint64_t>(row.shared), 5, static_cast<std::uint64_t>(cluster));
    row.loss += effect(own);
  };
  return design;
}

class LaterDesigns {
 public:
  void add(std::string name, std::string description, StudyDesign design) {
    design.name = std::move(name);
    design.description = std::move(description);
    design.rows = {30, 50, 100, 200, 500, 1'000, 5'000, 20'000};
    const bool labels = design.action_kind == ActionKind::multilabel;
    design.estimators = {"ips", "clipped", "snips", "ips-ix"};
    if (labels) design.estimators.emplace_back("additive");
    design.outcome_range.reset();
    design.max_weight.reset();
    all.push_back(std::move(design));
  }
  std::vector<StudyDesign> all;
};

StudyDesign losses_of(const std::function<double(RandomStream&)>& draw, double mean) {
  return categorical_design(
      few_actions(), [draw](int, RandomStream& stream) { return draw(stream); }, [mean](int) { return mean; });
}

void add_losses(LaterDesigns& designs) {
  designs.add("zero-gamma", "a tenth of the rows have a gamma loss of shape 1/2",
              categorical_design(
                  ActionChances({0.5, 0.2, 0.1, 0.1, 0.05, 0.05}, {0, 0, 0, 0.2, 0.4, 0.4}),
                  [](int action, RandomStream& s) { return s.uniform() < 0.1 ? (1 + action) * gamma_half(s) : 0.0; },
                  [](int action) { return 0.1 * (1 + action); }));
  designs.add("huge-loss-0.01", "normal losses, one in a hundred is 30 less",
              losses_of([](RandomStream& s) { return s.normal() - (s.uniform() < 0.01 ? 30 : 0); }, -0.3));
  designs.add(
      "huge-loss-own", "normal losses, and 20 more in 3 % of the rows of one action",
      categorical_design(
          few_actions(), [](int a, RandomStream& s) { return s.normal() + (a == 4 && s.uniform() < 0.03 ? 20 : 0); },
          [](int a) { return a == 4 ? 0.6 : 0.0; }));
  designs.add("rare-reward-0.02", "losses of -1 in 2 % of the rows",
              losses_of([](RandomStream& s) { return s.uniform() < 0.02 ? -1.0 : 0.0; }, -0.02));
  designs.add("near-one-0.99", "outcomes of 1 in 99 % of the rows, one of 4 actions",
              zero_one_design(one_of(4), [](int) { return 0.99; }));
  designs.add("near-one-0.999", "outcomes of 1 in 99.9 % of the rows, 5 actions",
              zero_one_design(few_actions(), [](int) { return 0.999; }));
  designs.add("by-action-0-1", "losses of 0 or 1 that the action decides",
              zero_one_design(few_actions(), [](int a) { return a >= 3 ? 1.0 : 0.0; }));
  designs.add("poisson-0.01", "counts of mean 0.01",
              losses_of([](RandomStream& s) { return poisson_noise(0.01, s); }, 0.01));
  designs.add("poisson-5", "counts of mean 5", losses_of([](RandomStream& s) { return poisson_noise(5, s); }, 5));
  designs.add("cancelling", "losses around 10 or -10 that cancel",
              losses_of([](RandomStream& s) { return (s.uniform() < 0.5 ? 10 : -10) + 0.1 * s.normal(); }, 0));
  designs.add("offset-minus-1000", "normal losses around -1000, 5 actions",
              losses_of([](RandomStream& s) { return -1000 + s.normal(); }, -1000));
  designs.add("offset-1000-uniform", "normal losses around 1000, one of 4 actions",
              categorical_design(
                  one_of(4), [](int, RandomStream& s) { return 1000 + s.normal(); }, [](int) { return 1000.0; }));
  designs.add("bimodal", "losses around 0 or 10, by the action",
              categorical_design(
                  few_actions(),
                  [](int a, RandomStream& s) { return (s.uniform() < 0.2 + 0.1 * a ? 10 : 0) + 0.1 * s.normal(); },
                  [](int a) { return 2.0 + a; }));
  designs.add("bimodal-0.03", "losses around 10 in 3 % of the rows, else around 0",
              losses_of([](RandomStream& s) { return (s.uniform() < 0.03 ? 10 : 0) + 0.1 * s.normal(); }, 0.3));
  designs.add("capped-revenue", "a tenth of the rows bring 1 to 100",
              losses_of([](RandomStream& s) { return s.uniform() < 0.1 ? -1 - 99 * s.uniform() : 0.0; }, -5.05));
  designs.add("power-10", "losses that are the tenth power of uniform ones",
              losses_of([](RandomStream& s) { return std::pow(s.uniform(), 10); }, 1 / 11.0));
  designs.add("student-5", "losses of Student's distribution with 5 degrees of freedom",
              losses_of(
                  [](RandomStream& s) {
                    double square = 0;
                    for (int i = 0; i < 5; ++i) square += gamma_half(s);
                    return s.normal() / std::sqrt(square / 5);
                  },
                  0));
}

void add_weights(LaterDesigns& designs) {
  designs.add("subgroup-0.3", "rate 30 %, one action for 5 % of the rows, else as logged",
              subgroup_design(0.05, 0.3, zero_one_noise));
  designs.add("subgroup-0.02", "rate 2 %, one action for 5 % of the rows, else as logged",
              subgroup_design(0.05, 0.02, zero_one_noise));
  designs.add("subgroup-normal", "normal losses, one action for 5 % of the rows, else as logged",
              subgroup_design(0.05, 0.5, normal_noise));
  designs.add("subgroup-third", "rate 10 %, one action for 30 % of the rows, else as logged",
              subgroup_design(0.3, 0.1, zero_one_noise));
  designs.add("two-0.001-half", "second of two actions logged in 0.1 %, half of the target",
              two_actions(0.001, 0.5, 0.5, zero_one_noise));
  designs.add("two-0.001-little", "second of two actions logged in 0.1 %, 1 % of the target",
              two_actions(0.001, 0.01, 0.5, zero_one_noise));
  designs.add("two-0.01-tenth", "second of two actions logged in 1 %, a tenth of the target, normal losses",
              two_actions(0.01, 0.1, 1, normal_noise));
  designs.add("two-0.05-all", "second of two actions logged in 5 %, all of the target, normal losses",
              two_actions(0.05, 1, 1, normal_noise));
  designs.add("one-of-1000", "one of 1000 actions logged uniformly, normal losses",
              one_of_uniform(1000, 1, normal_noise));
  designs.add("one-of-50", "one of 50 actions logged uniformly, rate 30 %", one_of_uniform(50, 0.3, zero_one_noise));
  designs.add("one-of-20", "one of 20 actions logged uniformly, rate 10 %", one_of_uniform(20, 0.1, zero_one_noise));
  designs.add("one-of-20-poisson", "one of 20 actions logged uniformly, counts of mean 0.05",
              one_of_uniform(20, 0.05, poisson_noise));
  designs.add("one-of-10-normal", "one of 10 actions logged uniformly, normal losses",
              one_of_uniform(10, 1, normal_noise));
  designs.add("spread-0.01", "propensities spread over [0.01, 1], rate 30 %",
              spread_propensities(
                  0.01, [](double) { return 0.3; }, zero_one_noise));
  designs.add("spread-0.001", "propensities spread over [0.001, 1], normal losses",
              spread_propensities(
                  0.001, [](double) { return 1.0; }, normal_noise));
  designs.add("spread-rising", "propensities spread over [0.01, 1], losses that fall with them",
              spread_propensities(
                  0.01, [](double p) { return 3 * (1 - p); }, normal_noise));
  designs.add("spread-falling", "propensities spread over [0.01, 1], losses that rise with them",
              spread_propensities(
                  0.01, [](double p) { return 3 * p; }, normal_noise));
}

void add_policies(LaterDesigns& designs) {
  const auto good = [](double score) { return 1 / (1 + std::exp(3 - score)); };
  const auto bad = [](double score) { return 0.02 / (1 + std::exp(score)); };
  designs.add("sharper-5", "softmax of 5 actions at temperature 1, target 0.3, rates that rise with scores",
              temperature_design(5, 1, 0.3, good, zero_one_noise));
  designs.add("sharper-20", "softmax of 20 actions at temperature 1.5, target 0.3, rates that rise with scores",
              temperature_design(20, 1.5, 0.3, good, zero_one_noise));
  designs.add("sharper-rare",
              "softmax of 10 actions at temperature 1, target 0.5, rates below 2 % that fall with scores",
              temperature_design(10, 1, 0.5, bad, zero_one_noise));
  designs.add("flatter-10", "softmax of 10 actions at temperature 0.5, target 1, normal losses",
              temperature_design(
                  10, 0.5, 1, [](double score) { return score; }, normal_noise));
  designs.add("reversed-5", "softmax of 5 actions at temperature 1, target -1, exponential losses of mean exp(-score)",
              temperature_design(
                  5, 1, -1, [](double score) { return std::exp(-score); },
                  [](double m, RandomStream& s) { return -m * std::log(s.uniform()); }));
  designs.add("epsilon-near", "greedy but for 10 % and 5 %, disagreeing in 5 % of the contexts, rate 5 %",
              epsilon_design(10, 0.1, 0.05, 0.05, 0.05));
  designs.add("epsilon-far", "greedy but for 10 % and 5 %, disagreeing in 30 % of the contexts, rate 20 %",
              epsilon_design(10, 0.1, 0.05, 0.3, 0.2));
  designs.add("epsilon-half", "greedy but for 30 % and 10 %, disagreeing in half of the contexts, rate 50 %",
              epsilon_design(5, 0.3, 0.1, 0.5, 0.5));
}

void add_actions(LaterDesigns& designs) {
  const auto bump = [](double a) { return 1 / (1 + a * a); };
  const auto step = [](double a) { return std::tanh(3 * (a - 1)); };
  for (const double shift : {0.5, 1.0, 2.0})
    designs.add(fmt::format("bump-{}", shift), fmt::format("gaussian target {} away, loss 1 / (1 + a^2)", shift),
                smooth_actions(shift, 1, 1, bump, 0.1));
  designs.add("step-0.5", "gaussian target half a standard deviation away, loss a smooth step",
              smooth_actions(0.5, 1, 1, step, 0));
  designs.add("wide-logger", "gaussian logging twice as wide, target 1 away and half as wide, loss a smooth step",
              smooth_actions(1, 0.5, 2, step, 0.5));
  designs.add("tail-logger", "gaussian target 2 away from a logger twice as wide, loss a^2",
              smooth_actions(
                  2, 1, 2, [](double a) { return a * a; }, 1));
  designs.add("labels-3-0.4", "3 independent bits, each likelier by 0.4 in the target", shifted_labels(3, 0.4));
  designs.add("labels-6-0.02", "6 independent bits, each likelier by 0.02 in the target", shifted_labels(6, 0.02));
}

void add_clusters(LaterDesigns& designs) {
  const auto normal = [](RandomStream& s) { return s.normal(); };
  designs.add("ten-clusters", "rows of 10 clusters of equal size", dealt_clusters(10, 0, normal, 0, 1));
  designs.add("thirty-clusters", "rows of 30 clusters of equal size", dealt_clusters(30, 0, normal, 0, 1));
  designs.add("thirty-unequal", "rows of 30 clusters of sizes by Zipf's law", dealt_clusters(30, 1, normal, 0, 1));
  designs.add("hundred-unequal", "rows of 100 clusters of sizes by Zipf's law", dealt_clusters(100, 1, normal, 0, 1));
  designs.add("hundred-heavy", "rows of 100 clusters with lognormal effects",
              dealt_clusters(
                  100, 0, [](RandomStream& s) { return std::exp(s.normal()); }, std::exp(0.5), 0.5));
  designs.add("users-0.05", "rows of 200 clusters, 5 % of which lose 1 each time",
              dealt_clusters(
                  200, 0.5, [](RandomStream& s) { return s.uniform() < 0.05 ? 1.0 : 0.0; }, 0.05, 0.1));
}

}  // namespace

std::vector<StudyDesign> make_later_designs() {
  LaterDesigns designs;
  add_losses(designs);
  add_weights(designs);
  add_policies(designs);
  add_actions(designs);
  add_clusters(designs);
  return std::move(designs.all);
}

}  // namespace scrm
