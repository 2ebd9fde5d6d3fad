#include "scrm/io/policy_file.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "scrm/io/error.hpp"
#include "scrm/io/limited_text.hpp"
#include "scrm/io/spelling.hpp"

namespace scrm {
namespace {

using Names = std::vector<std::string>;

const Names kFeatureMaps = {"linear", "quadratic"};
const Names kMixings = {"joint", "label"};
const Names kKeys = {"kind", "features", "scale", "epsilon", "mixing", "theta"};

/// The text of a policy file on its way to a Policy; every error names the file and a line.
class PolicyReader {
 public:
  PolicyReader(const std::string& path, std::span<const PolicyFormat> kinds, std::size_t memory)
      : path_(path), kinds_(kinds), memory_(memory) {}

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
  const PolicyFormat& read_kind() const;
  /// The names of the kinds that `mixing` belongs to.
  std::string kinds_with_mixing() const;
  void read_settings(const PolicyFormat& format, Policy& policy) const;
  void read_theta(const PolicyFormat& format, Policy& policy) const;
  void read_rows(const toml::array& rows, Policy& policy) const;
  void check_row_length(const toml::node& theta, const Policy& policy) const;

  const std::string& path_;
  std::span<const PolicyFormat> kinds_;
  std::size_t memory_;
  toml::table table_;
};

toml::table PolicyReader::parse() const {
  // Half for the text, since it grows by being copied.
  const std::string text = read_limited_text(path_, memory_ / 2, "policy file");
  if (const std::size_t needed = toml_bytes(text); needed > memory_) {
    throw Error(ErrorKind::memory,
                fmt::format("reading this policy takes {:.1f} MiB and the memory budget leaves {:.1f} MiB; give a "
                            "larger --memory",
                            static_cast<double>(needed) / (1 << 20), static_cast<double>(memory_) / (1 << 20)),
                {.file = path_});
  }
  try {
    return toml::parse(text);
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

const PolicyFormat& PolicyReader::read_kind() const {
  Names names;
  for (const PolicyFormat& format : kinds_) names.emplace_back(format.kind.name());
  const auto kind = word("kind", names);
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
  policy.features = static_cast<FeatureMap>(word("features", kFeatureMaps).value_or(0));
  policy.mixing = static_cast<Mixing>(word("mixing", kMixings).value_or(0));
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

Policy PolicyReader::read() {
  table_ = parse();
  check_keys();
  const PolicyFormat& format = read_kind();
  Policy policy;
  read_settings(format, policy);
  read_theta(format, policy);
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

void require_writable(const Policy& policy, const PolicyFormat& format) {
  const auto reject = [](const std::string& what) {
    throw Error(ErrorKind::run, "a policy cannot be written to a file: " + what);
  };
  for (const double value : policy.theta)
    if (!std::isfinite(value)) reject(fmt::format("theta has the value {}", value));
  if (!std::isfinite(policy.scale) || !std::isfinite(policy.epsilon)) reject("scale or epsilon is not finite");
  if (format.theta == ThetaRows::none) return;
  if (policy.outputs < 1 || policy.theta.empty() || policy.theta.size() % static_cast<std::size_t>(policy.outputs) != 0)
    reject(fmt::format("{} numbers make no {} equal rows of theta", policy.theta.size(), policy.outputs));
}

}  // namespace

Policy read_policy(const std::string& path, std::span<const PolicyFormat> kinds) {
  return read_policy(path, kinds, std::numeric_limits<std::size_t>::max());
}

Policy read_policy(const std::string& path, std::span<const PolicyFormat> kinds, std::size_t memory) {
  return PolicyReader(path, kinds, memory).read();
}

std::string policy_text(const Policy& policy, const PolicyFormat& format, const std::string& comment) {
  require_writable(policy, format);
  std::string text;
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) text += line.empty() ? "#\n" : "# " + line + "\n";
  text += fmt::format("kind     = \"{}\"\n", format.kind.name());
  if (format.theta == ThetaRows::none) return text;
  text += fmt::format("features = \"{}\"\n", policy.features == FeatureMap::linear ? "linear" : "quadratic");
  if (!format.scale.empty()) text += fmt::format("scale    = {}\n", digits(policy.scale));
  if (format.epsilon) text += fmt::format("epsilon  = {}\n", digits(policy.epsilon));
  if (format.mixing) text += fmt::format("mixing   = \"{}\"\n", policy.mixing == Mixing::joint ? "joint" : "label");
  if (format.theta == ThetaRows::one)
    return text + "theta    = " + list(policy.theta.data(), policy.row_length()) + "\n";
  text += "theta    = [\n";
  for (int k = 0; k < policy.outputs; ++k)
    text += "  " + list(policy.theta.data() + k * policy.row_length(), policy.row_length()) + ",\n";
  return text + "]\n";
}

}  // namespace scrm
