#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "scrm/experiments/method.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {

// Each is defined in its own file methods/NAME.cpp.
std::unique_ptr<Learner> make_crm(const LearnerSetup&);
std::unique_ptr<Learner> make_scrm(const LearnerSetup&);
std::unique_ptr<Learner> make_sbpe(const LearnerSetup&);
std::unique_ptr<Learner> make_bkucb(const LearnerSetup&);
std::unique_ptr<Learner> make_ppo(const LearnerSetup&);
std::unique_ptr<Learner> make_trpo(const LearnerSetup&);
std::unique_ptr<Learner> make_baseline(const LearnerSetup&);
std::unique_ptr<Learner> make_skyline(const LearnerSetup&);
std::unique_ptr<Learner> make_all_zeros(const LearnerSetup&);
std::unique_ptr<Learner> make_majority(const LearnerSetup&);
MethodResources fitted_resources(const ProblemShape&, const RunOptions&, const HyperParameters&, int threads);
MethodResources sbpe_resources(const ProblemShape&, const RunOptions&, const HyperParameters&, int threads);
MethodResources bkucb_resources(const ProblemShape&, const RunOptions&, const HyperParameters&, int threads);
MethodResources ppo_resources(const ProblemShape&, const RunOptions&, const HyperParameters&, int threads);
MethodResources trpo_resources(const ProblemShape&, const RunOptions&, const HyperParameters&, int threads);

namespace {

std::string without_right_actions(const ProblemFactory& environment, const RunOptions&) {
  return environment.knows_right_actions ? "" : "its right actions are not known";
}

std::string without_bits(const ProblemFactory& environment, const RunOptions&) {
  return environment.action_kind == ActionKind::multilabel ? "" : "its actions are not bits";
}

std::string without_majority(const ProblemFactory& environment, const RunOptions& options) {
  if (environment.action_kind == ActionKind::continuous) return "its actions are neither bits nor categories";
  return without_right_actions(environment, options);
}

std::string without_numbers_or_bits(const ProblemFactory& environment, const RunOptions&) {
  return environment.action_kind == ActionKind::categorical
             ? "its actions are categories, and kernel bandits choose numbers or bits"
             : "";
}

std::string without_estimator(const ProblemFactory& environment, const RunOptions& options) {
  if (!options.estimator->label_sums || environment.action_kind == ActionKind::multilabel) return "";
  return fmt::format("the {} estimator is for actions that are bits", options.estimator->name);
}

std::string without_independent_bits(const ProblemFactory& environment, const RunOptions& options) {
  const bool joint = options.mixing == Mixing::joint && options.epsilon > 0;
  return environment.action_kind == ActionKind::multilabel && joint
             ? "mixing = \"joint\" makes its bits depend on each other, and an actor's bits are independent"
             : "";
}

/// Entropy weights of pretraining, which stand where others have λ: those that the paper's protocol tries.
std::vector<double> usual_entropy_weights() {
  return {0.1, 0.2, 0.5, 1, 2, 5, 10};
}

const std::optional<std::vector<double>>& entropy_weights(const RunOptions& options) {
  return options.entropy_weights;
}

/// A deque, so that what find_method() returned stays where it is when another is registered.
std::deque<MethodEntry>& registry() {
  static std::deque<MethodEntry> entries = {
      {.name = "baseline", .description = "the policy that learning starts from", .make = make_baseline},
      {.name = "crm",
       .description = "learns from all logs of the standing policy",
       .make = make_crm,
       .has_lambda = true,
       .learns = true,
       .inapplicable_reason = without_estimator,
       .resources = fitted_resources},
      {.name = "scrm",
       .description = "deploys what it learned and learns again",
       .make = make_scrm,
       .has_lambda = true,
       .learns = true,
       .deploys = true,
       .inapplicable_reason = without_estimator,
       .resources = fitted_resources},
      {.name = "sbpe",
       .description = "plays what a linear fit to all logs thinks best",
       .make = make_sbpe,
       .has_lambda = true,
       .learns = true,
       .deploys = true,
       .incremental = true,
       .inapplicable_reason = without_numbers_or_bits,
       .lambdas = {0.0},
       .resources = sbpe_resources},
      {.name = "bkucb",
       .description = "plays what a kernel fit to all logs may find best",
       .make = make_bkucb,
       .has_lambda = true,
       .learns = true,
       .deploys = true,
       .incremental = true,
       .inapplicable_reason = without_numbers_or_bits,
       .lambdas = {1.0, 10.0, 100.0},
       .resources = bkucb_resources},
      {.name = "trpo",
       .description = "actor and critic: one step of bounded KL a batch",
       .make = make_trpo,
       .has_lambda = true,
       .learns = true,
       .deploys = true,
       .incremental = true,
       .inapplicable_reason = without_independent_bits,
       .lambdas = usual_entropy_weights(),
       .given_lambdas = entropy_weights,
       .resources = trpo_resources},
      {.name = "ppo",
       .description = "actor and critic: clipped gradient steps on each batch",
       .make = make_ppo,
       .has_lambda = true,
       .learns = true,
       .deploys = true,
       .incremental = true,
       .inapplicable_reason = without_independent_bits,
       .lambdas = usual_entropy_weights(),
       .given_lambdas = entropy_weights,
       .resources = ppo_resources},
      {.name = "skyline",
       .description = "supervised learning with the right answers",
       .make = make_skyline,
       .inapplicable_reason = without_right_actions},
      {.name = "all-zeros",
       .description = "no bit is ever set",
       .make = make_all_zeros,
       .inapplicable_reason = without_bits},
      {.name = "majority",
       .description = "each bit's majority, or the most frequent class",
       .make = make_majority,
       .inapplicable_reason = without_majority},
  };
  return entries;
}

const MethodEntry* find(const std::string& name) {
  const auto found = std::find_if(registry().begin(), registry().end(),
                                  [&name](const MethodEntry& entry) { return entry.name == name; });
  return found != registry().end() ? &*found : nullptr;
}

}  // namespace

const std::deque<MethodEntry>& methods() {
  return registry();
}

void register_method(MethodEntry entry) {
  if (find(entry.name) != nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("there is a method \"{}\" already; give this one another name", entry.name));
  }
  registry().push_back(std::move(entry));
}

const MethodEntry& find_method(const std::string& name) {
  if (const MethodEntry* entry = find(name)) return *entry;
  std::vector<std::string> names;
  for (const MethodEntry& entry : registry()) names.push_back(entry.name);
  const std::string meant = did_you_mean(name, names, "\"");
  throw Error(ErrorKind::usage,
              fmt::format("there is no method \"{}\"; {}", name,
                          meant.empty() ? fmt::format("choose among {}", fmt::join(names, ", ")) : meant));
}

}  // namespace scrm
