#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <span>
#include <sstream>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/toml_text.hpp"
#include "scrm/io/policy/policy_file.hpp"

namespace scrm {
namespace {

std::string shard_list(const std::vector<TrainingShard>& shards) {
  std::string text = "[";
  for (const TrainingShard& shard : shards)
    text +=
        fmt::format("{}[{}, {}]", text.size() > 1 ? ", " : "", shard.rows, std::bit_cast<std::int64_t>(shard.begins));
  return text + "]";
}

std::string training_text(const Policy& policy) {
  if (!policy.training) return "";
  const Training& training = *policy.training;
  return fmt::format(
      "\n# The rows it was learned from: `scrm evaluate --holdout-of` judges it on those it did not see.\n"
      "[training]\nrows     = {}\nholdout  = {}\nseed     = {}\nbegins   = {}\n{}{}{}",
      training.rows, toml_float(training.holdout), std::bit_cast<std::int64_t>(training.seed),
      std::bit_cast<std::int64_t>(training.begins),
      training.sample ? fmt::format("sample   = {}\n", std::bit_cast<std::int64_t>(*training.sample)) : "",
      training.shards.empty() ? "" : fmt::format("shards   = {}\n", shard_list(training.shards)),
      training.by_cluster ? "by       = \"cluster\"\n" : "");
}

const char* name_of(FeatureMap map) {
  return map == FeatureMap::linear ? "linear" : map == FeatureMap::quadratic ? "quadratic" : "fourier";
}

std::string fourier_text(const Policy& policy) {
  if (policy.features != FeatureMap::fourier) return "";
  const FourierFeatures& map = policy.fourier;
  std::string text = fmt::format("width    = {}\nbandwidth = {}\nfeature_seed = {}\n", map.width,
                                 toml_float(map.bandwidth), std::bit_cast<std::int64_t>(map.seed));
  const auto add = [&text](const char* key, const std::vector<double>& numbers) {
    if (!numbers.empty()) text += fmt::format("{}   = {}\n", key, toml_list(numbers));
  };
  add("centre", map.centre);
  add("spread", map.spread);
  return text;
}

std::span<const double> row_of(const Policy& policy, int k) {
  return {policy.theta.data() + k * policy.row_length(), static_cast<std::size_t>(policy.row_length())};
}

void require_writable(const Policy& policy, const PolicyFormat& format) {
  const auto reject = [](const std::string& what) {
    throw Error(ErrorKind::run, "a policy cannot be written to a file: " + what);
  };
  for (const double value : policy.theta)
    if (!std::isfinite(value)) reject(fmt::format("theta has the value {}", value));
  if (!std::isfinite(policy.scale) || !std::isfinite(policy.epsilon)) reject("scale or epsilon is not finite");
  if (format.theta == ThetaRows::none) return;
  if (policy.features == FeatureMap::fourier && !policy.fourier.columns.empty())
    reject("its fourier features belong to columns in another order");
  if (policy.outputs < 1 || policy.theta.empty() || policy.theta.size() % static_cast<std::size_t>(policy.outputs) != 0)
    reject(fmt::format("{} numbers make no {} equal rows of theta", policy.theta.size(), policy.outputs));
}

}  // namespace

std::string policy_text(const Policy& policy, const PolicyFormat& format, const std::string& comment) {
  require_writable(policy, format);
  std::string text;
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) text += line.empty() ? "#\n" : "# " + line + "\n";
  text += fmt::format("kind     = \"{}\"\n", format.kind.name());
  if (!policy.inputs.empty()) text += "inputs   = " + toml_list(policy.inputs) + "\n";
  if (!policy.actions.empty()) text += "actions  = " + toml_list(policy.actions) + "\n";
  if (format.theta == ThetaRows::none) return text + training_text(policy);
  text += fmt::format("features = \"{}\"\n", name_of(policy.features));
  text += fourier_text(policy);
  if (!format.scale.empty()) text += fmt::format("scale    = {}\n", toml_float(policy.scale));
  if (format.epsilon) text += fmt::format("epsilon  = {}\n", toml_float(policy.epsilon));
  if (format.mixing) text += fmt::format("mixing   = \"{}\"\n", policy.mixing == Mixing::joint ? "joint" : "label");
  if (format.theta == ThetaRows::one)
    return text + "theta    = " + toml_list(row_of(policy, 0)) + "\n" + training_text(policy);
  text += "theta    = [\n";
  for (int k = 0; k < policy.outputs; ++k) text += "  " + toml_list(row_of(policy, k)) + ",\n";
  return text + "]\n" + training_text(policy);
}

}  // namespace scrm
