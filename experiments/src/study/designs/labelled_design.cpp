#include "study/designs/labelled_design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "environments/problem/labelled_transforms.hpp"
#include "environments/problem/supervised_policies.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/fnv_hash.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/kernels/vector/shuffle.hpp"

namespace scrm {
namespace {

constexpr std::int64_t kFewestRows = 20;
constexpr double kLoggerShare = 0.05, kTargetShare = 0.3;
constexpr double kLoggerEpsilon = 0.2, kTargetEpsilon = 0.1;
constexpr std::int64_t kLogRows = 1'000;
constexpr std::uint32_t kOrderStream = 0x0DE5;

/// The rows that logs are drawn from, and what both policies do there.
struct Population {
  std::int64_t rows = 0, features = 0;
  int actions = 0;
  std::vector<double> context;          // [rows, features]
  std::vector<std::int32_t> category;   // the right ones
  std::vector<double> logging, target;  // probabilities [rows, actions]

  const double* chances(Actor actor, std::int64_t row) const {
    return (actor == Actor::logging ? logging : target).data() + row * actions;
  }
};

/// π(k|x) of a softmax policy for one row of features.
void add_probabilities(const Policy& policy, const double* x, std::vector<double>& out) {
  const std::int64_t width = policy.row_length();
  std::vector<double> scores;
  for (int k = 0; k < policy.outputs; ++k) {
    const double* theta = policy.theta.data() + k * width;
    scores.push_back(std::inner_product(theta + 1, theta + width, x, theta[0]));
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (const double score : scores) out.push_back((1 - policy.epsilon) * score / sum + policy.epsilon / policy.outputs);
}

Population make_population(const LabelledData& data, std::span<const std::int64_t> rows, const Policy& logger,
                           const Policy& target) {
  Population out;
  out.rows = std::ssize(rows);
  out.features = data.features;
  out.actions = data.labels;
  for (const std::int64_t row : rows) {
    const double* x = data.context.data() + row * data.features;
    out.context.insert(out.context.end(), x, x + data.features);
    out.category.push_back(data.category[static_cast<std::size_t>(row)]);
    add_probabilities(logger, x, out.logging);
    add_probabilities(target, x, out.target);
  }
  return out;
}

/// Expected loss over the population.
double expected_loss(const Population& population, Actor actor) {
  double sum = 0;
  for (std::int64_t i = 0; i < population.rows; ++i)
    sum -= population.chances(actor, i)[population.category[static_cast<std::size_t>(i)]];
  return sum / static_cast<double>(population.rows);
}

double largest_weight(const Population& population) {
  double largest = 0;
  for (std::size_t i = 0; i < population.logging.size(); ++i)
    largest = std::max(largest, population.target[i] / population.logging[i]);
  return largest;
}

void draw_row(const Population& population, RandomStream& stream, Actor actor, DrawnRow& row) {
  const auto at = static_cast<std::int64_t>(stream.uniform() * static_cast<double>(population.rows));
  const std::int64_t index = std::min(at, population.rows - 1);
  const double* chances = population.chances(actor, index);
  double left = stream.uniform();
  int action = 0;
  while (action + 1 < population.actions && left >= chances[action]) left -= chances[action++];
  row.context = population.context.data() + index * population.features;
  row.category = action;
  row.loss = action == population.category[static_cast<std::size_t>(index)] ? -1 : 0;
  row.propensity = population.chances(Actor::logging, index)[action];
  row.target = population.chances(Actor::target, index)[action];
}

void require_usable(const LabelledData& data, const std::string& name) {
  const auto refuse = [&name](const std::string& why) { throw Error(ErrorKind::data, why, {.file = name}); };
  if (!data.multiclass) refuse("a study of estimators needs rows with one class each, and these have bits");
  if (data.sparse) refuse("a study of estimators needs dense rows, and these are sparse");
  if (data.rows < kFewestRows)
    refuse(fmt::format("{} {} too few to train two policies on and to log", count_of(data.rows, "row"),
                       data.rows == 1 ? "is" : "are"));
}

}  // namespace

StudyDesign labelled_design(const std::string& name, const LabelledData& raw) {
  require_usable(raw, name);
  const LabelledData data = standardized(raw);
  std::vector<std::int64_t> order(static_cast<std::size_t>(data.rows));
  std::iota(order.begin(), order.end(), 0);
  RandomStream random(fnv_hash(name.data(), name.size()), kOrderStream, 0);
  shuffle(std::span(order), random);
  const auto count = [&](double share) { return static_cast<std::size_t>(share * static_cast<double>(data.rows)); };
  const auto rows = std::span<const std::int64_t>(order);
  Policy logger = fitted_classes(data, rows.first(count(kLoggerShare)));
  logger.epsilon = kLoggerEpsilon;
  Policy target = sharpened(fitted_classes(data, rows.subspan(count(kLoggerShare), count(kTargetShare))));
  target.epsilon = kTargetEpsilon;
  const auto population = std::make_shared<const Population>(
      make_population(data, rows.subspan(count(kLoggerShare) + count(kTargetShare)), logger, target));

  StudyDesign design;
  design.name = name;
  design.description = fmt::format("{} rows of {} features, one of {} classes", data.rows, data.features, data.labels);
  design.num_actions = data.labels;
  design.features = data.features;
  design.rows = {kLogRows};
  design.value = expected_loss(*population, Actor::target);
  design.logged_mean = expected_loss(*population, Actor::logging);
  design.outcome_range = OutcomeRange{-1, 0};
  design.max_weight = largest_weight(*population) * (1 + 1e-9);
  design.policy = std::move(target);
  design.draw = [population](RandomStream& stream, std::int64_t, Actor actor, DrawnRow& row) {
    draw_row(*population, stream, actor, row);
  };
  return design;
}

std::size_t labelled_design_bytes(const LabelledData& data) {
  // The rows by standard deviations while policies are trained, those of the population, and two probabilities a class.
  const auto numbers = static_cast<std::size_t>(data.rows * (2 * data.features + 2 * data.labels + 2));
  return numbers * sizeof(double);
}

}  // namespace scrm
