#include "task/learning/learning_start.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "scrm/engine/learn/action_regression.hpp"
#include "scrm/engine/pass/fourier_source.hpp"
#include "scrm/engine/policy/match_names.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Uniform actions mixed in unless the request says otherwise.
constexpr double kEpsilon = 0.1;
// Of the logged actions' spread, where a learned scale starts and where it ends.
constexpr double kStartShare = 0.5, kLeastShare = 0.1;
// Spreads beside which a scale of one half is neither so narrow that few rows tell anything, nor about as wide as they
// are: the context has a part in the spread, and weights of a policy that is wider than the logging one have no end.
constexpr double kScale = 0.5, kLeastSpread = 0.8, kMostSpread = 4;

/// The kinds that can be learned and act on these actions.
std::vector<const PolicyKindDefinition*> kinds_for(ActionKind action) {
  std::vector<const PolicyKindDefinition*> out;
  for (const PolicyKindDefinition& kind : policy_kinds()) {
    const bool acts = std::find(kind.actions.begin(), kind.actions.end(), action) != kind.actions.end();
    if (acts && kind.score_gradient != nullptr) out.push_back(&kind);
  }
  if (out.empty()) throw Error(ErrorKind::run, fmt::format("no kind of policy learns {} actions", to_string(action)));
  return out;
}

/// The kind that is named, or the first that suits the actions.
const PolicyKindDefinition& kind_of(const LearningRequest& request, ActionKind action) {
  const std::vector<const PolicyKindDefinition*> suitable = kinds_for(action);
  if (request.kind.empty()) return *suitable.front();
  const PolicyKindDefinition& kind = policy_kind(PolicyKind(request.kind));
  if (kind.score_gradient == nullptr || std::find(suitable.begin(), suitable.end(), &kind) != suitable.end())
    return kind;
  std::vector<std::string_view> names;
  for (const PolicyKindDefinition* one : suitable) names.push_back(one->format.kind.name());
  throw Error(ErrorKind::data, fmt::format("--kind {} does not fit the data, whose actions are {}: there is {}",
                                           request.kind, to_string(action), fmt::join(names, " or ")));
}

/// Scores at which a policy is centred at the logged actions: where these are, weights do not vanish.
Moments logged_centres(Source& source, const PolicyKindDefinition& kind, const LearningRequest& request,
                       const TaskOptions& task) {
  const auto compute = [&kind](const Block& block, Moments& out) {
    out = Moments{};
    for (int i = 0; i < block.rows; ++i) {
      const double centre = kind.centre(block.action[i]);
      if (std::isfinite(centre)) out.merge(Moments::of(centre));
    }
  };
  const auto merge = [](Moments& a, const Moments& b) { a.merge(b); };
  const auto [moments, audit] = run_pass(source, Moments{}, compute, merge, task.pass("starting"));
  if (!request.options.skip_bad_rows) require_no_bad_rows(audit);
  return moments;
}

/// The kind with θ = 0, as the request describes it.
Policy described_policy(const PolicyKindDefinition& kind, const Schema& schema, const LearningRequest& request,
                        const TaskOptions& task) {
  const std::int64_t outputs = kind.format.theta == ThetaRows::per_action ? schema.num_actions : 1;
  const FeatureMap map = request.features == FeatureMap::fourier ? FeatureMap::linear : request.features;
  const std::int64_t parameters = outputs * (1 + mapped_features(map, schema.features));
  // It is copied once before the search begins.
  task.ledger().charge(static_cast<std::size_t>(parameters) * 2 * sizeof(double),
                       fmt::format("a policy of {} parameters", parameters), "linear --features");
  Policy policy = zero_policy(kind.format.kind, map, schema);
  policy.scale = request.scale.value_or(kScale);
  if (kind.format.epsilon) policy.epsilon = request.epsilon.value_or(kEpsilon);
  policy.mixing = request.mixing.value_or(Mixing::joint);
  return policy;
}

/// A scale for actions of start.logged_spread, unless one is asked for.
void suit_scale(const LearningRequest& request, LearningStart& start) {
  const double spread = start.logged_spread;
  start.chose_scale =
      !request.scale && std::isfinite(spread) && spread > 0 && (spread < kLeastSpread || spread > kMostSpread);
  start.policy.scale = request.scale.value_or(start.chose_scale ? kStartShare * spread : kScale);
}

/// Where a scale that is learned starts and ends, for the same actions.
void suit_learned_scale(const LearningRequest& request, LearningStart& start) {
  const bool given = request.start.has_value(), bounded = request.min_scale.has_value();
  if (given && bounded) return;
  const double spread = start.logged_spread;
  if (!(spread > 0 && std::isfinite(spread))) {
    throw Error(ErrorKind::data,
                "the logged actions do not vary, so there is nothing to learn a scale from; give --scale a number");
  }
  if (!given) start.policy.scale = kStartShare * spread;
  if (!bounded) start.min_scale = kLeastShare * spread;
}

}  // namespace

void require_options_of_kind(const LearningRequest& request, const PolicyKindDefinition& kind) {
  const std::string policies = fmt::format("{} policies", kind.format.kind.name());
  if (kind.format.scale.empty() && (request.scale || request.learn_scale)) {
    throw Error(ErrorKind::usage, fmt::format("--scale is for continuous actions (gaussian, lognormal); {} have {}",
                                              policies, kind.format.epsilon ? "--epsilon" : "no scale"));
  }
  if (!kind.format.epsilon && request.epsilon) {
    throw Error(ErrorKind::usage, fmt::format("--epsilon is for softmax and multilabel policies; {} have {}", policies,
                                              kind.format.scale.empty() ? "none" : "--scale"));
  }
  if (!kind.format.mixing && request.mixing) {
    throw Error(
        ErrorKind::usage,
        fmt::format("--mixing is how epsilon is mixed into the labels of multilabel policies; {} have no labels",
                    policies));
  }
}

LearningStart learning_start(Source& source, const LearningRequest& request, const TaskOptions& task) {
  const Schema& schema = source.schema();
  const bool given = request.start.has_value(), learned = request.learn_scale;
  LearningStart start;
  if (given) start.policy = match_names(request.start->policy, schema, request.start->name);
  // Its features are among the columns by now.
  if (start.policy.features == FeatureMap::fourier) start.policy = as_linear(std::move(start.policy));
  const PolicyKindDefinition& kind = given ? policy_kind(start.policy.kind) : kind_of(request, schema.action_kind);
  require_options_of_kind(request, kind);
  if (!given) start.policy = described_policy(kind, schema, request, task);
  if (learned) start.min_scale = request.min_scale.value_or(kLeastShare);
  if (kind.centre == nullptr || schema.action_kind != ActionKind::continuous || (given && !learned)) return start;
  const Moments centres = logged_centres(source, kind, request, task);
  start.logged_spread = centres.standard_deviation();
  if (!given) start.policy.theta.front() = centres.count > 0 ? centres.mean : 0;
  learned ? suit_learned_scale(request, start) : suit_scale(request, start);
  return start;
}

void start_from_regression(Source& source, const RowMask* training, std::int64_t features,
                           const LearningRequest& request, const TaskOptions& task, LearningStart& start) {
  if (request.start) return;
  const std::optional<ActionRegression> found =
      explaining_regression(source, policy_kind(start.policy.kind), features, training, task.pass("starting"));
  if (!found) return;
  if (const auto& bound = request.options.minimize.bound) {
    const auto [least, most] = std::minmax_element(found->theta.begin(), found->theta.end());
    if (*least < bound->first || *most > bound->second) return;
  }
  // Products and fourier features come after the data's own.
  std::copy(found->theta.begin(), found->theta.end(), start.policy.theta.begin());
  start.explained = found->explained();
  start.logged_spread = found->residual_spread;
  request.learn_scale ? suit_learned_scale(request, start) : suit_scale(request, start);
}

}  // namespace scrm
