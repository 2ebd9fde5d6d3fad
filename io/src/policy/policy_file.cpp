#include "scrm/io/policy/policy_file.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "file/toml_file.hpp"
#include "scrm/io/file/limited_text.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

using Names = std::vector<std::string>;

const Names kFeatureMaps = {"linear", "quadratic", "fourier"};
const Names kMixings = {"joint", "label"};
const Names kKeys = {"kind",  "features", "width",  "bandwidth", "feature_seed", "centre", "spread",
                     "scale", "epsilon",  "mixing", "inputs",    "actions",      "theta",  "training"};
const Names kFourierKeys = {"width", "bandwidth", "feature_seed", "centre", "spread"};
const Names kTrainingKeys = {"rows", "holdout", "seed", "begins", "sample", "shards", "by"};

/// The text of a policy file on its way to a Policy; every error names the file and a line.
class PolicyReader {
 public:
  PolicyReader(const std::string& path, std::span<const PolicyFormat> kinds, std::size_t memory)
      : file_(path, "policy", memory), kinds_(kinds), memory_(memory) {}

  Policy read();

 private:
  [[noreturn]] void fail(const toml::node* node, std::string_view key, const std::string& what) const {
    file_.fail(node, key, what);
  }
  std::optional<double> number(std::string_view key) const;
  double element(const toml::node& node, std::string_view name) const;
  const PolicyFormat& read_kind() const;
  /// The names of the kinds that `mixing` belongs to.
  std::string kinds_with_mixing() const;
  void read_settings(const PolicyFormat& format, Policy& policy) const;
  void read_fourier(const PolicyFormat& format, Policy& policy) const;
  std::vector<double> numbers(std::string_view key) const;
  void check_fourier_inputs(const toml::node& theta, const Policy& policy) const;
  void read_theta(const PolicyFormat& format, Policy& policy) const;
  void read_rows(const toml::array& rows, Policy& policy) const;
  void check_row_length(const toml::node& theta, const Policy& policy) const;
  void read_names(const PolicyFormat& format, Policy& policy) const;
  void read_training(Policy& policy) const;
  std::vector<TrainingShard> training_shards(const toml::node& node) const;

  TomlFile file_;
  std::span<const PolicyFormat> kinds_;
  std::size_t memory_;
  toml::table table_;
};

double PolicyReader::element(const toml::node& node, std::string_view name) const {
  if (!node.is_number()) fail(&node, name, "must be a number");
  const double value = *node.value<double>();
  if (!std::isfinite(value)) fail(&node, name, fmt::format("must be a finite number, not {}", value));
  return value;
}

std::optional<double> PolicyReader::number(std::string_view key) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  return element(*node, key);
}

const PolicyFormat& PolicyReader::read_kind() const {
  Names names;
  for (const PolicyFormat& format : kinds_) names.emplace_back(format.kind.name());
  const auto kind = file_.word(table_, "kind", names);
  if (!kind) fail(nullptr, "kind", fmt::format("is missing; write for instance kind = \"{}\"", names.front()));
  return kinds_[*kind];
}

std::string PolicyReader::kinds_with_mixing() const {
  Names names;
  for (const PolicyFormat& format : kinds_)
    if (format.mixing) names.emplace_back(format.kind.name());
  return fmt::format("{}", fmt::join(names, " and "));
}

void PolicyReader::read_settings(const PolicyFormat& format, Policy& policy) const {
  policy.kind = format.kind;
  policy.features = static_cast<FeatureMap>(file_.word(table_, "features", kFeatureMaps).value_or(0));
  policy.mixing = static_cast<Mixing>(file_.word(table_, "mixing", kMixings).value_or(0));
  if (table_.contains("mixing") && !format.mixing)
    fail(table_.get("mixing"), "mixing", fmt::format("belongs to {} policies; leave it out", kinds_with_mixing()));

  const auto scale = number("scale");
  if (!scale && !format.scale.empty())
    fail(nullptr, "scale", fmt::format("is missing; a {} policy needs its {}", format.kind.name(), format.scale));
  policy.scale = scale.value_or(1.0);
  if (policy.scale <= 0) fail(table_.get("scale"), "scale", fmt::format("must be above zero, not {}", policy.scale));

  policy.epsilon = number("epsilon").value_or(0.0);
  if (policy.epsilon < 0 || policy.epsilon >= 1)
    fail(table_.get("epsilon"), "epsilon", fmt::format("must be at least 0 and below 1, not {}", policy.epsilon));
  // There is no uniform density on the whole line, and ignoring the wish would give numbers for another policy.
  if (policy.epsilon > 0 && !format.epsilon)
    fail(table_.get("epsilon"), "epsilon",
         fmt::format("{} policies cannot be mixed with uniform; leave it out", format.kind.name()));
}

std::vector<double> PolicyReader::numbers(std::string_view key) const {
  std::vector<double> out;
  const toml::node* node = table_.get(key);
  if (node == nullptr) return out;
  const toml::array* list = node->as_array();
  if (list == nullptr || list->empty()) fail(node, key, "must be a list of numbers, one for each feature");
  for (std::size_t i = 0; i < list->size(); ++i) out.push_back(element((*list)[i], fmt::format("{}[{}]", key, i)));
  return out;
}

void PolicyReader::read_fourier(const PolicyFormat& format, Policy& policy) const {
  if (policy.features != FeatureMap::fourier || format.theta == ThetaRows::none) {
    for (const std::string& key : kFourierKeys)
      if (table_.contains(key)) fail(table_.get(key), key, "belongs to features = \"fourier\"; leave it out");
    return;
  }
  const auto whole = [&](const char* key, std::int64_t least) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) fail(nullptr, key, "is missing; fourier features need width, bandwidth and feature_seed");
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < least) fail(node, key, fmt::format("must be a whole number of at least {}", least));
    return *value;
  };
  FourierFeatures& map = policy.fourier;
  map.width = whole("width", 1);
  map.seed = static_cast<std::uint64_t>(whole("feature_seed", 0));
  const auto bandwidth = number("bandwidth");
  if (!bandwidth) fail(nullptr, "bandwidth", "is missing; fourier features need width, bandwidth and feature_seed");
  map.bandwidth = *bandwidth;
  if (!(map.bandwidth > 0))
    fail(table_.get("bandwidth"), "bandwidth", fmt::format("must be above zero, not {}", map.bandwidth));
  map.centre = numbers("centre");
  map.spread = numbers("spread");
  for (std::size_t j = 0; j < map.spread.size(); ++j) {
    if (!(map.spread[j] > 0))
      fail(table_.get("spread"), fmt::format("spread[{}]", j),
           fmt::format("must be above zero, not {}", map.spread[j]));
  }
}

/// The row of theta says how many features there are: what is left beside intercept and width.
void PolicyReader::check_fourier_inputs(const toml::node& theta, const Policy& policy) const {
  const std::int64_t inputs = policy.row_length() - 1 - policy.fourier.width;
  if (inputs < 1) {
    fail(&theta, "theta",
         fmt::format("{} numbers are too few for fourier features of width {}, which need 1 + d + {} of them for d "
                     "features",
                     policy.row_length(), policy.fourier.width, policy.fourier.width));
  }
  // A frequency for each feature and each input, which no file spells out.
  if (static_cast<double>(inputs) * static_cast<double>(policy.fourier.width) * sizeof(double) >
      static_cast<double>(memory_)) {
    fail(table_.get("width"), "width",
         fmt::format("{} fourier features of {} take more memory than there is; use fewer", policy.fourier.width,
                     count_of(inputs, "feature")));
  }
  for (const auto& [key, list] :
       {std::pair("centre", &policy.fourier.centre), std::pair("spread", &policy.fourier.spread)}) {
    if (list->empty() || static_cast<std::int64_t>(list->size()) == inputs) continue;
    fail(table_.get(key), key,
         fmt::format("has {}, but theta has room for {}", count_of(list->size(), "number"),
                     count_of(inputs, "feature")));
  }
}

void PolicyReader::read_rows(const toml::array& rows, Policy& policy) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string name = fmt::format("theta[{}]", i);
    const toml::array* row = rows[i].as_array();
    if (row == nullptr)
      fail(&rows[i], "theta",
           fmt::format("{} policies need a list of rows, one for each action: [[...], [...]]", policy.kind.name()));
    if (row->empty()) fail(row, name, "is empty; a row begins with its intercept");
    const std::size_t first = rows[0].as_array()->size();
    if (row->size() != first)
      fail(row, name,
           fmt::format("has {} where theta[0] has {}; all rows must be equally long", count_of(row->size(), "number"),
                       first));
    for (std::size_t j = 0; j < row->size(); ++j)
      policy.theta.push_back(element((*row)[j], fmt::format("theta[{}][{}]", i, j)));
  }
  policy.outputs = static_cast<int>(rows.size());
}

void PolicyReader::check_row_length(const toml::node& theta, const Policy& policy) const {
  if (policy.features == FeatureMap::fourier) return check_fourier_inputs(theta, policy);
  if (policy.features == FeatureMap::linear) return;
  std::int64_t features = 0;
  while (1 + mapped_features(policy.features, features) < policy.row_length()) ++features;
  const std::int64_t fitting = 1 + mapped_features(policy.features, features);
  if (fitting == policy.row_length()) return;
  const std::int64_t below = 1 + mapped_features(policy.features, features - 1);
  fail(&theta, "theta",
       fmt::format(
           "{} numbers fit no quadratic map, which needs 1 + d + d(d+1)/2 of them: {} for {} features, {} for {}",
           policy.row_length(), below, features - 1, fitting, features));
}

void PolicyReader::read_theta(const PolicyFormat& format, Policy& policy) const {
  const toml::node* node = table_.get("theta");
  if (format.theta == ThetaRows::none) {
    if (node != nullptr) fail(node, "theta", fmt::format("{} policies have none; leave it out", format.kind.name()));
    policy.outputs = 0;
    return;
  }
  if (node == nullptr)
    fail(nullptr, "theta",
         fmt::format("is missing; a {} policy needs {}", format.kind.name(),
                     format.theta == ThetaRows::per_action ? "a row of numbers for each action, intercept first"
                                                           : "a list of numbers, intercept first"));
  const toml::array* list = node->as_array();
  if (list == nullptr) fail(node, "theta", "must be a list");
  if (list->empty()) fail(node, "theta", "is empty; it begins with the intercept");
  if (format.theta == ThetaRows::per_action) {
    read_rows(*list, policy);
  } else {
    for (std::size_t i = 0; i < list->size(); ++i) {
      if ((*list)[i].is_array())
        fail(&(*list)[i], "theta", fmt::format("{} policies need one flat list of numbers", policy.kind.name()));
      policy.theta.push_back(element((*list)[i], fmt::format("theta[{}]", i)));
    }
    policy.outputs = 1;
  }
  check_row_length(*node, policy);
}

void PolicyReader::read_names(const PolicyFormat& format, Policy& policy) const {
  policy.inputs = file_.names(table_, "inputs");
  policy.actions = file_.names(table_, "actions");
  if (format.theta == ThetaRows::none) return;
  const auto inputs = static_cast<std::int64_t>(policy.inputs.size());
  if (inputs > 0 && 1 + mapped_features(policy, inputs) != policy.row_length()) {
    fail(table_.get("inputs"), "inputs",
         fmt::format("has {}, which take {} numbers a row of theta; there are {}", count_of(inputs, "name"),
                     1 + mapped_features(policy, inputs), policy.row_length()));
  }
  if (policy.actions.empty()) return;
  if (format.theta == ThetaRows::one)
    fail(table_.get("actions"), "actions",
         fmt::format("{} policies choose a number; leave it out", format.kind.name()));
  if (policy.actions.size() != static_cast<std::size_t>(policy.outputs)) {
    fail(table_.get("actions"), "actions",
         fmt::format("has {}, but theta has {}", count_of(policy.actions.size(), "name"),
                     count_of(policy.outputs, "row")));
  }
}

std::vector<TrainingShard> PolicyReader::training_shards(const toml::node& node) const {
  const toml::array* list = node.as_array();
  if (list == nullptr) fail(&node, "training.shards", "must be a list");
  std::vector<TrainingShard> out;
  for (const toml::node& one : *list) {
    const toml::array* pair = one.as_array();
    const auto whole = [&](std::size_t i) {
      return pair != nullptr && pair->size() == 2 ? (*pair)[i].value_exact<std::int64_t>() : std::nullopt;
    };
    const auto rows = whole(0), begins = whole(1);
    if (!rows || !begins || *rows < 0)
      fail(&one, fmt::format("training.shards[{}]", out.size()), "must be two whole numbers, the first of them rows");
    out.push_back({*rows, std::bit_cast<std::uint64_t>(*begins)});
  }
  return out;
}

void PolicyReader::read_training(Policy& policy) const {
  const toml::node* node = table_.get("training");
  if (node == nullptr) return;
  const toml::table* table = node->as_table();
  if (table == nullptr) fail(node, "training", "must be a table");
  file_.check_keys(*table, kTrainingKeys, "trainings");
  Training training;
  training.rows = table->get("rows") != nullptr ? table->get("rows")->value<std::int64_t>().value_or(-1) : -1;
  if (training.rows < 0) fail(table, "training.rows", "must be a whole number of at least 0");
  training.holdout = table->get("holdout") != nullptr ? element(*table->get("holdout"), "training.holdout") : 0;
  if (!(training.holdout >= 0 && training.holdout < 1))
    fail(table, "training.holdout", fmt::format("must be at least 0 and below 1, not {}", training.holdout));
  const auto whole = [&](const char* key) {
    const toml::node* number = table->get(key);
    const auto value = number != nullptr ? number->value_exact<std::int64_t>() : std::int64_t{0};
    if (!value) fail(number, fmt::format("training.{}", key), "must be a whole number");
    return std::bit_cast<std::uint64_t>(*value);
  };
  training.seed = whole("seed");
  training.begins = whole("begins");
  if (table->get("sample") != nullptr) training.sample = whole("sample");
  if (const toml::node* shards = table->get("shards")) training.shards = training_shards(*shards);
  if (const toml::node* by = table->get("by")) {
    const std::string unit = by->value<std::string>().value_or("");
    if (unit != "row" && unit != "cluster") fail(by, "training.by", "must be \"row\" or \"cluster\"");
    training.by_cluster = unit == "cluster";
  }
  policy.training = training;
}

Policy PolicyReader::read() {
  table_ = file_.parse();
  file_.check_keys(table_, kKeys, "policies");
  const PolicyFormat& format = read_kind();
  Policy policy;
  read_settings(format, policy);
  read_fourier(format, policy);
  read_theta(format, policy);
  read_names(format, policy);
  read_training(policy);
  return policy;
}

}  // namespace

Policy read_policy(const std::string& path, std::span<const PolicyFormat> kinds) {
  return read_policy(path, kinds, std::numeric_limits<std::size_t>::max());
}

Policy read_policy(const std::string& path, std::span<const PolicyFormat> kinds, std::size_t memory) {
  return PolicyReader(path, kinds, memory).read();
}

}  // namespace scrm
