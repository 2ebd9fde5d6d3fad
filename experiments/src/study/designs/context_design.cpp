#include "study/designs/context_design.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace scrm {

double zero_one_noise(double mean, RandomStream& stream) {
  return stream.uniform() < mean ? 1 : 0;
}

double normal_noise(double mean, RandomStream& stream) {
  return mean + stream.normal();
}

StudyDesign context_design(Contexts all, Noise noise) {
  StudyDesign design;
  const std::size_t count = all.chances.size(), actions = all.chances.front().logging.size();
  design.num_actions = static_cast<int>(actions);
  double largest = 0;
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t a = 0; a < actions; ++a) {
      design.value += all.chances[c].target[a] * all.means[c][a] / static_cast<double>(count);
      design.logged_mean += all.chances[c].logging[a] * all.means[c][a] / static_cast<double>(count);
      largest = std::max(largest, all.chances[c].target[a] / all.chances[c].logging[a]);
    }
  }
  design.max_weight = largest * (1 + 1e-9);
  const auto held = std::make_shared<const Contexts>(std::move(all));
  design.draw = [held, count, actions, noise](RandomStream& stream, std::int64_t, Actor actor, DrawnRow& row) {
    const std::size_t c = std::min(static_cast<std::size_t>(stream.uniform() * static_cast<double>(count)), count - 1);
    const ActionChances& chances = held->chances[c];
    const std::vector<double>& acts = actor == Actor::logging ? chances.logging : chances.target;
    double left = stream.uniform();
    std::size_t a = 0;
    while (a + 1 < actions && left >= acts[a]) left -= acts[a++];
    row.category = static_cast<int>(a);
    row.propensity = chances.logging[a];
    row.target = chances.target[a];
    row.loss = noise(held->means[c][a], stream);
  };
  return design;
}

}  // namespace scrm
