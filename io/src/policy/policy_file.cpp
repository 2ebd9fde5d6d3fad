#include "scrm/io/policy_file.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "scrm/io/atomic_file.hpp"
#include "scrm/io/error.hpp"
#include "scrm/io/spelling.hpp"

namespace scrm {
namespace {

using Names = std::vector<std::string>;

const Names kKinds = {"gaussian", "lognormal", "softmax", "multilabel", "uniform"};
const Names kFeatureMaps = {"linear", "quadratic"};
const Names kMixings = {"joint", "label"};
const Names kKeys = {"kind", "features", "scale", "epsilon", "mixing", "theta"};

bool has_scale(PolicyKind kind) {
  return kind == PolicyKind::gaussian || kind == PolicyKind::lognormal;
}
bool has_rows(PolicyKind kind) {
  return kind == PolicyKind::softmax || kind == PolicyKind::multilabel;
}

/// The text of a policy file on its way to a Policy; every error names the file and a line.
class PolicyReader {
 public:
  explicit PolicyReader(const std::string& path) : path_(path) {}

  Policy read();

 private:
  [[noreturn]] void fail(const toml::node* node, std::string_view key, const std::string& what) const {
    const auto line = node != nullptr ? node->source().begin.line : 0;
    const std::string where = line > 0 ? fmt::format("line {}: ", line) : std::string();
    throw Error(ErrorKind::data, fmt::format("{}{}: {}", where, key, what), {.file = path_});
  }

  toml::table parse() const;
  void check_keys() const;
  /// Position of the key's word among `names`; nothing when the key is absent.
  std::optional<std::size_t> word(std::string_view key, const Names& names) const;
  std::optional<double> number(std::string_view key) const;
  double element(const toml::node& node, std::string_view name) const;
  void read_settings(Policy& policy) const;
  void read_theta(Policy& policy) const;
  void read_rows(const toml::array& rows, Policy& policy) const;
  void check_row_length(const toml::node& theta, const Policy& policy) const;

  const std::string& path_;
  toml::table table_;
};

toml::table PolicyReader::parse() const {
  const auto fail_to_read = [&](int reason) {
    throw Error(ErrorKind::file, fmt::format("cannot read this policy file: {}", std::strerror(reason)),
                {.file = path_});
  };
  if (std::filesystem::is_directory(path_)) fail_to_read(EISDIR);
  errno = 0;
  std::ifstream file(path_, std::ios::binary);
  if (!file) fail_to_read(errno);
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return toml::parse(text.str());
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::data,
                fmt::format("line {}, column {}: not valid TOML: {}", error.source().begin.line,
                            error.source().begin.column, error.description()),
                {.file = path_});
  }
}

void PolicyReader::check_keys() const {
  for (const auto& [key, node] : table_) {
    const std::string_view name = key.str();
    if (std::find(kKeys.begin(), kKeys.end(), name) == kKeys.end())
      fail(&node, name, "policies have no such key; " + suggestion(name, kKeys));
  }
}

std::optional<std::size_t> PolicyReader::word(std::string_view key, const Names& names) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  const auto text = node->value_exact<std::string_view>();
  if (!text) fail(node, key, fmt::format("must be a word in quotes; there is {}", fmt::join(names, ", ")));
  const auto found = std::find(names.begin(), names.end(), *text);
  if (found == names.end()) fail(node, key, fmt::format("'{}' is not known; {}", *text, suggestion(*text, names)));
  return static_cast<std::size_t>(found - names.begin());
}

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

void PolicyReader::read_settings(Policy& policy) const {
  const auto kind = word("kind", kKinds);
  if (!kind) fail(nullptr, "kind", fmt::format("is missing; write for instance kind = \"{}\"", kKinds.front()));
  policy.kind = static_cast<PolicyKind>(*kind);
  policy.features = static_cast<FeatureMap>(word("features", kFeatureMaps).value_or(0));
  policy.mixing = static_cast<Mixing>(word("mixing", kMixings).value_or(0));
  if (table_.contains("mixing") && policy.kind != PolicyKind::multilabel)
    fail(table_.get("mixing"), "mixing", "belongs to multilabel policies; leave it out");

  const auto scale = number("scale");
  if (!scale && has_scale(policy.kind))
    fail(nullptr, "scale", fmt::format("is missing; a {} policy needs its standard deviation", to_string(policy.kind)));
  policy.scale = scale.value_or(1.0);
  if (policy.scale <= 0) fail(table_.get("scale"), "scale", fmt::format("must be above zero, not {}", policy.scale));

  policy.epsilon = number("epsilon").value_or(0.0);
  if (policy.epsilon < 0 || policy.epsilon >= 1)
    fail(table_.get("epsilon"), "epsilon", fmt::format("must be at least 0 and below 1, not {}", policy.epsilon));
  // There is no uniform density on the whole line, and ignoring the wish would give numbers for another policy.
  if (policy.epsilon > 0 && has_scale(policy.kind))
    fail(table_.get("epsilon"), "epsilon",
         fmt::format("{} policies cannot be mixed with uniform; leave it out", to_string(policy.kind)));
}

void PolicyReader::read_rows(const toml::array& rows, Policy& policy) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string name = fmt::format("theta[{}]", i);
    const toml::array* row = rows[i].as_array();
    if (row == nullptr)
      fail(&rows[i], "theta",
           fmt::format("{} policies need a list of rows, one for each action: [[...], [...]]", to_string(policy.kind)));
    if (row->empty()) fail(row, name, "is empty; a row begins with its intercept");
    const std::size_t first = rows[0].as_array()->size();
    if (row->size() != first)
      fail(row, name,
           fmt::format("has {} numbers where theta[0] has {}; all rows must be equally long", row->size(), first));
    for (std::size_t j = 0; j < row->size(); ++j)
      policy.theta.push_back(element((*row)[j], fmt::format("theta[{}][{}]", i, j)));
  }
  policy.outputs = static_cast<int>(rows.size());
}

void PolicyReader::check_row_length(const toml::node& theta, const Policy& policy) const {
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

void PolicyReader::read_theta(Policy& policy) const {
  const toml::node* node = table_.get("theta");
  if (policy.kind == PolicyKind::uniform) {
    if (node != nullptr) fail(node, "theta", "uniform policies have none; leave it out");
    policy.outputs = 0;
    return;
  }
  if (node == nullptr)
    fail(nullptr, "theta",
         fmt::format("is missing; a {} policy needs {}", to_string(policy.kind),
                     has_rows(policy.kind) ? "a row of numbers for each action, intercept first"
                                           : "a list of numbers, intercept first"));
  const toml::array* list = node->as_array();
  if (list == nullptr) fail(node, "theta", "must be a list");
  if (list->empty()) fail(node, "theta", "is empty; it begins with the intercept");
  if (has_rows(policy.kind)) {
    read_rows(*list, policy);
  } else {
    for (std::size_t i = 0; i < list->size(); ++i) {
      if ((*list)[i].is_array())
        fail(&(*list)[i], "theta", fmt::format("{} policies need one flat list of numbers", to_string(policy.kind)));
      policy.theta.push_back(element((*list)[i], fmt::format("theta[{}]", i)));
    }
    policy.outputs = 1;
  }
  check_row_length(*node, policy);
}

Policy PolicyReader::read() {
  table_ = parse();
  check_keys();
  Policy policy;
  read_settings(policy);
  read_theta(policy);
  return policy;
}

/// The fewest digits that read back to the same double, always with a point or an exponent: a TOML float.
std::string digits(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string list(const double* values, std::int64_t count) {
  std::string text = "[";
  for (std::int64_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + digits(values[i]);
  return text + "]";
}

void require_writable(const Policy& policy) {
  const auto reject = [](const std::string& what) {
    throw Error(ErrorKind::run, "a policy cannot be written to a file: " + what);
  };
  for (const double value : policy.theta)
    if (!std::isfinite(value)) reject(fmt::format("theta has the value {}", value));
  if (!std::isfinite(policy.scale) || !std::isfinite(policy.epsilon)) reject("scale or epsilon is not finite");
  if (policy.kind == PolicyKind::uniform) return;
  if (policy.outputs < 1 || policy.theta.empty() || policy.theta.size() % static_cast<std::size_t>(policy.outputs) != 0)
    reject(fmt::format("{} numbers make no {} equal rows of theta", policy.theta.size(), policy.outputs));
}

}  // namespace

const char* to_string(PolicyKind kind) noexcept {
  switch (kind) {
    case PolicyKind::gaussian:
      return "gaussian";
    case PolicyKind::lognormal:
      return "lognormal";
    case PolicyKind::softmax:
      return "softmax";
    case PolicyKind::multilabel:
      return "multilabel";
    case PolicyKind::uniform:
      return "uniform";
  }
  return "";
}

Policy read_policy(const std::string& path) {
  return PolicyReader(path).read();
}

std::string policy_text(const Policy& policy, const std::string& comment) {
  require_writable(policy);
  std::string text;
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) text += line.empty() ? "#\n" : "# " + line + "\n";
  text += fmt::format("kind     = \"{}\"\n", to_string(policy.kind));
  if (policy.kind == PolicyKind::uniform) return text;
  text += fmt::format("features = \"{}\"\n", policy.features == FeatureMap::linear ? "linear" : "quadratic");
  if (has_scale(policy.kind)) {
    text += fmt::format("scale    = {}\n", digits(policy.scale));
    return text + "theta    = " + list(policy.theta.data(), policy.row_length()) + "\n";
  }
  text += fmt::format("epsilon  = {}\n", digits(policy.epsilon));
  if (policy.kind == PolicyKind::multilabel)
    text += fmt::format("mixing   = \"{}\"\n", policy.mixing == Mixing::joint ? "joint" : "label");
  text += "theta    = [\n";
  for (int k = 0; k < policy.outputs; ++k)
    text += "  " + list(policy.theta.data() + k * policy.row_length(), policy.row_length()) + ",\n";
  return text + "]\n";
}

void write_policy(const std::string& path, const Policy& policy, const std::string& comment) {
  write_text_file(path, policy_text(policy, comment));
}

}  // namespace scrm
