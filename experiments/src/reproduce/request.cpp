#include "reproduce/request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scrm/experiments/method.hpp"
#include "scrm/io/file/toml_text.hpp"

namespace scrm {
namespace {

/// Those of the names that this program has: a method that is not built in is no row.
std::vector<std::string> known_methods(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const std::string& name : names) {
    const auto same = [&name](const MethodEntry& entry) { return entry.name == name; };
    if (std::any_of(methods().begin(), methods().end(), same)) known.push_back(name);
  }
  return known;
}

// λ of the multilabel data sets: all of the paper's, or few where time is short.
constexpr const char* kManyLambdas = "1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 1e2, 1e3, 1e4, 1e5";
constexpr const char* kFewLambdas = "1e-5, 1e-2, 1, 1e3";

}  // namespace

ReproduceScale scale_of(const ReproduceOptions& options) {
  if (!options.quick) return {};
  return {.seeds = 2, .long_seeds = 1, .rollouts = 12, .crm_rollouts = 14, .study_logs = 30, .study_rows = 100'000};
}

SweepRequest gaussian_request(const ReproduceOptions& options, const std::string& protocol, bool long_crm) {
  const ReproduceScale scale = scale_of(options);
  const std::string text = fmt::format(
      "environments = [\"gaussian\"]\nmethods      = {}\nseeds        = {}\nrollouts     = {}\nprotocol     = \"{}\"\n",
      long_crm ? "[\"crm\"]" : "[\"baseline\", \"crm\", \"scrm\"]", long_crm ? 1 : scale.seeds,
      long_crm ? scale.crm_rollouts : scale.rollouts, protocol);
  return {(long_crm ? "gaussian-long-" : "gaussian-") + protocol, text, options.quick ? 2.0 : long_crm ? 40.0 : 20.0};
}

SweepRequest continuous_request(const ReproduceOptions& options) {
  const ReproduceScale scale = scale_of(options);
  const std::string text = fmt::format(
      "environments = [\"pricing\", \"advertising\"]\nmethods      = {}\nseeds        = {}\nlambdas      = {}\n",
      toml_list(known_methods({"baseline", "sbpe", "bkucb", "trpo", "ppo", "crm", "scrm", "skyline"})), scale.seeds,
      options.quick ? "[1e-5, 1e-2, \"auto\"]" : "[1e-5, 1e-4, 1e-3, 1e-2, 1e-1, \"auto\"]");
  return {"continuous", text, options.quick ? 15.0 : 60.0};
}

SweepRequest labelled_request(const ReproduceOptions& options, const std::string& data_set,
                              const std::string& protocol) {
  const ReproduceScale scale = scale_of(options);
  const bool large = data_set == "tmc2007";
  const bool paper = protocol == "paper";
  std::vector<std::string> names = known_methods({"baseline", "crm", "scrm", "skyline", "all-zeros", "majority"});
  // What goes beyond the paper never looks at a label, whatever the protocol: once is enough.
  if (paper) names.insert(names.end(), {"scrm-balanced", "scrm-additive"});
  const char* lambdas = options.quick || large ? kFewLambdas : kManyLambdas;
  std::string text = fmt::format(
      "environments = [\"{}\"]\nmethods      = {}\nseeds        = {}\nprotocol     = \"{}\"\nlambdas      = [{}]\n"
      "lambda_candidates = [{}]\nestimator    = \"snips\"\npast         = \"all-naive\"\ndata_dir     = {}\n"
      "\n[method.scrm]\nlambdas = [{}, \"auto\"]\n",
      data_set, toml_list(names), large ? scale.long_seeds : scale.seeds, protocol, lambdas, lambdas,
      toml_string(options.data_dir), lambdas);
  if (paper) {
    text +=
        "\n[method.scrm-balanced]\nlike = \"scrm\"\npast = \"all-balance\"\n"
        "\n[method.scrm-additive]\nlike       = \"scrm\"\nestimator  = \"additive\"\nlambdas    = [1]\n"
        "l2         = [1e-5, 1e-4]\nwarm_start = true\n";
  }
  const double cost = data_set == "scene" ? 100.0 : data_set == "yeast" ? 80.0 : 150.0;
  return {data_set + "-" + protocol, text, options.quick ? cost / 5 : cost};
}

SweepRequest bandit_request(const ReproduceOptions& options, const std::string& data_set, const std::string& protocol) {
  const ReproduceScale scale = scale_of(options);
  const bool large = data_set == "tmc2007";
  // On tmc2007, sbpe's least-norm solution would take minutes a run.
  std::vector<std::string> names =
      large ? known_methods({"trpo", "ppo"}) : known_methods({"sbpe", "bkucb", "trpo", "ppo"});
  const bool reinforcement = std::find(names.begin(), names.end(), "ppo") != names.end();
  names.emplace_back("bkucb-bits");
  std::string text = fmt::format(
      "environments = [\"{}\"]\nmethods      = {}\nseeds        = {}\nprotocol     = \"{}\"\ndata_dir     = {}\n",
      data_set, toml_list(names), large ? 1 : std::min(scale.seeds, 5), protocol, toml_string(options.data_dir));
  const bool few = large || options.quick;
  const char* one_lambda = few ? "bandit_lambdas = [10]\n" : "";
  if (options.quick && reinforcement) text += "entropy_weights = [0.1]\n";
  // sbpe keeps its λ of 0.
  if (few && !large) text += fmt::format("\n[method.bkucb]\n{}", one_lambda);
  text += fmt::format("\n[method.bkucb-bits]\nlike     = \"bkucb\"\nencoding = \"bits\"\n{}", one_lambda);
  const double cost = data_set == "scene" ? 60.0 : 40.0;
  return {data_set + "-bandits-" + protocol, text, options.quick ? cost / 5 : cost};
}

std::vector<double> distances(const ReproduceOptions& options) {
  if (options.quick) return {0.1, 1, 10};
  return {0.1, 0.3, 1, 3, 10, 30, 100};
}

std::vector<double> spreads(const ReproduceOptions& options) {
  if (options.quick) return {0.3, 3};
  return {0.1, 0.3, 1, 3};
}

std::string distance_method(const std::string& method, double distance, double spread) {
  return fmt::format("{} from {} with {}", method, distance, spread);
}

SweepRequest distance_request(const ReproduceOptions& options) {
  constexpr double kBest = 1;  // θ*
  std::vector<std::string> names;
  std::string tables;
  for (const char* method : {"crm", "scrm"}) {
    for (const double distance : distances(options)) {
      for (const double spread : spreads(options)) {
        names.push_back(distance_method(method, distance, spread));
        tables += fmt::format("\n[method.\"{}\"]\nlike  = \"{}\"\nstart = {}\nscale = {}\n", names.back(), method,
                              kBest + distance, spread);
      }
    }
  }
  const std::string text = fmt::format(
      "environments = [\"gaussian\"]\nmethods      = {}\nseeds        = {}\nrollouts     = {}\nbound        = [-99, "
      "101]\n{}",
      toml_list(names), options.quick ? 1 : 2, options.quick ? 10 : 15, tables);
  return {"distance", text, options.quick ? 5.0 : 120.0};
}

}  // namespace scrm
