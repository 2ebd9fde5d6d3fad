#include "sweep/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <tuple>
#include <utility>

#include "report/version.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/fnv_hash.hpp"

namespace scrm {
namespace {

/// 128 bits in hexadecimal: two hashes with different starts.
std::string hash_of(const std::string& text) {
  return fmt::format("{:016x}{:016x}", fnv_hash(text.data(), text.size()),
                     fnv_hash(text.data(), text.size(), 0x9ae16a3b2f90404f));
}

std::string describe(const Experiment& experiment) {
  return fmt::format("[{} / {}]\nversion = {}\nmethod = {}\ndata = {}\n{}", experiment.environment,
                     experiment.method.name, version(), experiment.method.method->name,
                     experiment.factory != nullptr ? experiment.factory->fingerprint : "",
                     describe(experiment.options));
}

std::vector<HyperParameters> grid(const Experiment& experiment) {
  if (!experiment.method.method->has_lambda) return {{}};
  std::vector<HyperParameters> out;
  const MethodEntry& method = *experiment.method.method;
  if (const std::vector<double>& own = method.lambdas; !own.empty()) {
    const std::optional<std::vector<double>>& given =
        method.given_lambdas != nullptr ? method.given_lambdas(experiment.options) : experiment.options.bandit.lambdas;
    for (const double lambda : given ? *given : own) out.push_back({{LambdaKind::given, lambda}, 0.0});
    return out;
  }
  for (const LambdaChoice& lambda : experiment.options.lambdas) {
    for (const std::optional<double>& l2 : experiment.options.l2) out.push_back({lambda, l2});
  }
  return out;
}

/// The options of a method in an environment, whose data may be missing. What an environment has by default goes with
/// the objective it has by default: who asks for another one, or for the released code, gets the λ of the paper.
RunOptions options_of(const SweepFile& file, const ProblemFactory* factory, const std::string& environment,
                      const std::string& method) {
  if (factory == nullptr) return file.options({}, environment, method);
  RunOptions options = file.options(factory->defaults, environment, method);
  const bool published = options.protocol == Protocol::published;
  if (!factory->published_defaults || (!published && options.estimator == factory->defaults.estimator)) return options;
  RunOptions defaults = *factory->published_defaults;
  if (!published) defaults.past = factory->defaults.past;
  return file.options(defaults, environment, method);
}

/// Names and values of one experiment, in the order of its text.
using OptionList = std::vector<std::pair<std::string, std::string>>;

/// The lines `name = value` of each experiment.
std::map<std::string, OptionList> parse_options_text(const std::string& text) {
  std::map<std::string, OptionList> out;
  std::istringstream lines(text);
  std::string experiment;
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > 1 && line.front() == '[') {
      experiment = line.substr(1, line.size() - 2);
      continue;
    }
    const std::size_t equals = std::min(line.find(" = "), line.size());
    out[experiment].emplace_back(line.substr(0, equals), line.substr(std::min(equals + 3, line.size())));
  }
  return out;
}

/// The value of that name as a sentence says it.
std::string value_of(const OptionList& experiment, const std::string& name) {
  const auto found =
      std::find_if(experiment.begin(), experiment.end(), [&name](const auto& entry) { return entry.first == name; });
  if (found == experiment.end()) return "not known";
  return found->second.empty() ? "empty" : found->second;
}

}  // namespace

SweepPlan::SweepPlan(const SweepFile& file, std::size_t memory) {
  const std::size_t before = resident_bytes();
  for (const std::string& environment : file.environments()) {
    std::string failure;
    try {
      const std::string name = is_path(environment) ? file.resolved(environment) : environment;
      const std::size_t taken = std::max(before, resident_bytes()) - before;
      const std::size_t left = memory == 0 ? 0 : std::max<std::size_t>(1, memory - std::min(memory, taken));
      factories_[environment] = make_problem_factory(name, file.data_dir(), left);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::usage || error.kind() == ErrorKind::memory) throw;
      failure = error.what();
    }
    for (const SweepMethod& method : file.methods()) add_experiment(file, environment, method, failure);
  }
}

void SweepPlan::add_experiment(const SweepFile& file, const std::string& environment, const SweepMethod& method,
                               const std::string& failure) {
  const auto opened = factories_.find(environment);
  const ProblemFactory* factory = opened != factories_.end() ? &opened->second : nullptr;
  Experiment experiment;
  experiment.environment = environment;
  experiment.method = method;
  experiment.factory = factory;
  experiment.failure = failure;
  experiment.options = options_of(file, factory, environment, method.name);
  if (factory != nullptr && method.method->inapplicable_reason != nullptr) {
    std::string reason = method.method->inapplicable_reason(*factory, experiment.options);
    if (!reason.empty()) {
      inapplicable_.push_back({environment, method.name, std::move(reason)});
      return;
    }
  }
  // Without its data nothing can be said about an experiment that a later invocation, with data, must agree with.
  if (factory != nullptr) {
    options_text_ += describe(experiment);
    experiment.shape = factory->shape(experiment.options);
  }
  experiments_.push_back(std::move(experiment));
  add_runs(file, experiments_.size() - 1);
}

void SweepPlan::add_runs(const SweepFile& file, std::size_t index) {
  const Experiment& experiment = experiments_[index];
  const std::string text = describe(experiment);
  for (const HyperParameters& parameters : grid(experiment)) {
    for (const std::int64_t seed : file.seeds()) {
      PlannedRun run;
      run.experiment = index;
      run.parameters = parameters;
      RunRecord& record = run.record;
      record.environment = experiment.environment;
      record.method = experiment.method.name;
      record.seed = seed;
      if (experiment.method.method->has_lambda) {
        record.lambda_rule = to_string(parameters.lambda.kind);
        if (parameters.lambda.kind == LambdaKind::given) record.hyperparameter = parameters.lambda.value;
        record.numbers["l2"] = ridge_number(parameters);
      }
      record.identity = hash_of(text + run_key(record));
      runs_.push_back(std::move(run));
    }
  }
}

std::string SweepPlan::fingerprint() const {
  std::string identities;
  for (const PlannedRun& run : runs_) identities += run.record.identity;
  return hash_of(identities);
}

double ridge_number(const HyperParameters& parameters) {
  return parameters.l2.value_or(std::numeric_limits<double>::quiet_NaN());
}

std::string run_key(const RunRecord& run) {
  const auto l2 = run.numbers.find("l2");
  const double ridge = l2 != run.numbers.end() ? l2->second : 0.0;
  return fmt::format("{} / {} / {} {} / l2 {} / seed {}", run.environment, run.method, run.lambda_rule,
                     run.hyperparameter, std::isnan(ridge) ? "auto" : fmt::format("{}", ridge), run.seed);
}

void group_by_experiment(std::vector<RunRecord>& runs, std::size_t ordered) {
  const auto parameters = [](const RunRecord& run) {
    const auto l2 = run.numbers.find("l2");
    const double lambda = std::isnan(run.hyperparameter) ? -1.0 : run.hyperparameter;
    const double ridge = l2 != run.numbers.end() ? l2->second : 0.0;
    return std::tuple(run.environment, run.method, run.lambda_rule, lambda, std::isnan(ridge) ? -1.0 : ridge, run.seed);
  };
  std::sort(runs.begin() + static_cast<std::ptrdiff_t>(std::min(ordered, runs.size())), runs.end(),
            [&](const RunRecord& a, const RunRecord& b) { return parameters(a) < parameters(b); });
  std::map<std::string, std::size_t> environments;
  std::map<std::pair<std::string, std::string>, std::size_t> methods;
  for (const RunRecord& run : runs) {
    environments.emplace(run.environment, environments.size());
    methods.emplace(std::pair(run.environment, run.method), methods.size());
  }
  const auto place = [&](const RunRecord& run) {
    return std::pair(environments.at(run.environment), methods.at({run.environment, run.method}));
  };
  std::stable_sort(runs.begin(), runs.end(),
                   [&](const RunRecord& a, const RunRecord& b) { return place(a) < place(b); });
}

std::vector<std::string> option_conflicts(const std::string& before, const std::string& now) {
  std::vector<std::string> out;
  const auto old_experiments = parse_options_text(before);
  for (const auto& [experiment, options] : parse_options_text(now)) {
    const auto old = old_experiments.find(experiment);
    if (old == old_experiments.end()) continue;
    // By name, since another version may know other options.
    std::vector<std::string> names;
    for (const auto& [name, value] : options) names.push_back(name);
    for (const auto& [name, value] : old->second) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    for (const std::string& name : names) {
      const std::string was = value_of(old->second, name), is = value_of(options, name);
      if (was != is) out.push_back(fmt::format("{}: {} was {} and is {}", experiment, name, was, is));
    }
  }
  return out;
}

}  // namespace scrm
