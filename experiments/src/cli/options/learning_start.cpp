#include "cli/options/learning_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "cli/options/choice.hpp"
#include "cli/options/number_options.hpp"
#include "report/enum_names.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/policy/match_names.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/policy/read_policy.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

constexpr const char* kLearned = "learned";
// Of the logged actions' spread, where a learned scale starts and where it ends.
constexpr double kStartShare = 0.5, kLeastShare = 0.1;

/// The first kind that can be learned and acts on these actions.
const PolicyKindDefinition& kind_for(ActionKind action) {
  for (const PolicyKindDefinition& kind : policy_kinds()) {
    const bool acts = std::find(kind.actions.begin(), kind.actions.end(), action) != kind.actions.end();
    if (acts && kind.score_gradient != nullptr) return kind;
  }
  throw Error(ErrorKind::run, fmt::format("no kind of policy learns {} actions", to_string(action)));
}

/// Scores at which a policy is centred at the logged actions: where these are, weights do not vanish.
Moments logged_centres(Source& source, const PolicyKindDefinition& kind, bool skip_bad_rows, const PassOptions& pass) {
  const auto compute = [&kind](const Block& block, Moments& out) {
    out = Moments{};
    for (int i = 0; i < block.rows; ++i) {
      const double centre = kind.centre(block.action[i]);
      if (std::isfinite(centre)) out.merge(Moments::of(centre));
    }
  };
  const auto merge = [](Moments& a, const Moments& b) { a.merge(b); };
  const auto [moments, audit] = run_pass(source, Moments{}, compute, merge, pass);
  if (!skip_bad_rows) require_no_bad_rows(audit);
  return moments;
}

/// The kind with θ = 0, as the options describe it.
Policy described_policy(const PolicyKindDefinition& kind, const Schema& schema, const LearningStartOptions& options,
                        const CommonOptions& common) {
  const std::int64_t outputs = kind.format.theta == ThetaRows::per_action ? schema.num_actions : 1;
  const std::int64_t parameters = outputs * (1 + mapped_features(options.features, schema.features));
  // It is copied once before the search begins.
  MemoryLedger::of_process(common.memory)
      .charge(static_cast<std::size_t>(parameters) * 2 * sizeof(double),
              fmt::format("a policy of {} parameters", parameters), "linear --features");
  Policy policy = zero_policy(kind.format.kind, options.features, schema);
  if (kind.format.epsilon) policy.epsilon = options.epsilon;
  policy.mixing = options.mixing;
  return policy;
}

double spread_of(const Moments& centres) {
  const double spread = centres.standard_deviation();
  if (spread > 0 && std::isfinite(spread)) return spread;
  throw Error(ErrorKind::data,
              "the logged actions do not vary, so there is nothing to learn a scale from; give --scale a number");
}

}  // namespace

void require_valid(const LearningStartOptions& options) {
  const std::optional<double> scale = number_option(options.scale);
  if (options.scale != kLearned && !(scale && *scale > 0)) {
    throw Error(ErrorKind::usage,
                fmt::format("--scale is '{}', but must be a number above zero or 'learned'", options.scale));
  }
  if (options.min_scale && options.scale != kLearned) {
    throw Error(ErrorKind::usage, "--min-scale is where a learned scale ends; it needs --scale learned");
  }
}

LearningStart learning_start(Source& source, const LearningStartOptions& options, bool skip_bad_rows,
                             const CommonOptions& common) {
  const Schema& schema = source.schema();
  const bool given = !options.file.empty(), learned = options.scale == kLearned;
  LearningStart start;
  if (given) {
    const std::size_t memory = MemoryLedger::of_process(common.memory).left();
    start.policy = match_names(read_policy(options.file, memory), schema, options.file);
  }
  const PolicyKindDefinition& kind = given                  ? policy_kind(start.policy.kind)
                                     : options.kind.empty() ? kind_for(schema.action_kind)
                                                            : policy_kind(PolicyKind(options.kind));
  if (!given) start.policy = described_policy(kind, schema, options, common);
  if (!given && !learned) start.policy.scale = number_option(options.scale).value();
  if (learned) start.min_scale = options.min_scale.value_or(kLeastShare);
  if (kind.centre == nullptr || schema.action_kind != ActionKind::continuous || (given && !learned)) return start;
  const Moments centres = logged_centres(source, kind, skip_bad_rows, common.pass("starting"));
  if (!given) start.policy.theta.front() = centres.count > 0 ? centres.mean : 0;
  if (!learned) return start;
  if (!given) start.policy.scale = kStartShare * spread_of(centres);
  if (!options.min_scale) start.min_scale = kLeastShare * spread_of(centres);
  return start;
}

void add_learning_start_options(CLI::App& app, LearningStartOptions& options) {
  std::vector<const PolicyKindDefinition*> learnable;
  std::vector<std::string> names;
  for (const PolicyKindDefinition& kind : policy_kinds()) {
    if (kind.score_gradient == nullptr) continue;
    learnable.push_back(&kind);
    names.emplace_back(kind.format.kind.name());
  }
  const std::map<std::string, FeatureMap> maps = {{"linear", FeatureMap::linear}, {"quadratic", FeatureMap::quadratic}};
  app.add_option("--kind", options.kind, names_of_kinds(learnable) + "; default: what suits the actions")
      ->check(CLI::IsMember(names).description(""))
      ->type_name("K");
  choose_among(app.add_option("--features", options.features, "linear or quadratic; default linear"), maps)
      ->type_name("MAP");
  app.add_option("--scale", options.scale,
                 "Standard deviation of gaussian, or of log a for lognormal; learned: it is learned too, from half of "
                 "the logged actions' spread on. Default 0.5")
      ->type_name("X|learned");
  app.add_option("--min-scale", options.min_scale,
                 "The least scale that is learned; default a tenth of the logged actions' spread")
      ->check(CLI::PositiveNumber)
      ->type_name("X");
  app.add_option(
         "--epsilon", options.epsilon,
         "Share of uniform actions mixed into softmax and multilabel: exploration, without which there is nothing to "
         "learn from the next logs; default 0.1")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("X");
  choose_among(
      app.add_option("--mixing", options.mixing, "How epsilon is mixed into multilabel: joint or label; default joint"),
      values_by_name(kMixingNames))
      ->type_name("HOW");
  app.add_option("--start", options.file,
                 "Start from this policy file, which then fixes kind, features, scale and epsilon")
      ->type_name("FILE");
}

}  // namespace scrm
