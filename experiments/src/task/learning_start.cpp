#include "task/learning_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scrm/engine/pass/fourier_source.hpp"
#include "scrm/engine/policy/match_names.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Of the logged actions' spread, where a learned scale starts and where it ends.
constexpr double kStartShare = 0.5, kLeastShare = 0.1;
// Spreads beside which a scale of one half is neither so narrow that few rows tell anything, nor wider than they are.
constexpr double kScale = 0.5, kLeastSpread = 0.25, kMostSpread = 4;

/// The first kind that can be learned and acts on these actions.
const PolicyKindDefinition& kind_for(ActionKind action) {
  for (const PolicyKindDefinition& kind : policy_kinds()) {
    const bool acts = std::find(kind.actions.begin(), kind.actions.end(), action) != kind.actions.end();
    if (acts && kind.score_gradient != nullptr) return kind;
  }
  throw Error(ErrorKind::run, fmt::format("no kind of policy learns {} actions", to_string(action)));
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
  if (kind.format.epsilon) policy.epsilon = request.epsilon;
  policy.mixing = request.mixing;
  return policy;
}

double spread_of(const Moments& centres) {
  const double spread = centres.standard_deviation();
  if (spread > 0 && std::isfinite(spread)) return spread;
  throw Error(ErrorKind::data,
              "the logged actions do not vary, so there is nothing to learn a scale from; give --scale a number");
}

}  // namespace

LearningStart learning_start(Source& source, const LearningRequest& request, const TaskOptions& task) {
  const Schema& schema = source.schema();
  const bool given = request.start.has_value(), learned = request.learn_scale;
  LearningStart start;
  if (given) start.policy = match_names(request.start->policy, schema, request.start->name);
  // Its features are among the columns by now.
  if (start.policy.features == FeatureMap::fourier) start.policy = as_linear(std::move(start.policy));
  const PolicyKindDefinition& kind = given                  ? policy_kind(start.policy.kind)
                                     : request.kind.empty() ? kind_for(schema.action_kind)
                                                            : policy_kind(PolicyKind(request.kind));
  if (!given) start.policy = described_policy(kind, schema, request, task);
  if (learned) start.min_scale = request.min_scale.value_or(kLeastShare);
  if (kind.centre == nullptr || schema.action_kind != ActionKind::continuous || (given && !learned)) return start;
  const Moments centres = logged_centres(source, kind, request, task);
  if (!given) start.policy.theta.front() = centres.count > 0 ? centres.mean : 0;
  if (!learned) {
    const double spread = centres.standard_deviation();
    start.chose_scale =
        !request.scale && std::isfinite(spread) && spread > 0 && (spread < kLeastSpread || spread > kMostSpread);
    if (start.chose_scale) start.policy.scale = kStartShare * spread;
    return start;
  }
  if (!given) start.policy.scale = kStartShare * spread_of(centres);
  if (!request.min_scale) start.min_scale = kLeastShare * spread_of(centres);
  return start;
}

}  // namespace scrm
