#include "scrm/engine/policy/match_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

using Names = std::vector<std::string>;

/// Where each name stands in `wanted`; -1 where it does not.
std::vector<std::int64_t> places(const Names& names, const Names& wanted) {
  std::unordered_map<std::string, std::int64_t> place;
  for (std::size_t j = 0; j < wanted.size(); ++j) place.emplace(wanted[j], static_cast<std::int64_t>(j));
  std::vector<std::int64_t> found;
  for (const std::string& name : names) {
    const auto entry = place.find(name);
    found.push_back(entry == place.end() ? -1 : entry->second);
  }
  return found;
}

/// out, a row of theta for `wanted` features, gets the coefficients of `row`, whose feature j is feature to[j] there.
void spread_row(const double* row, const std::vector<std::int64_t>& to, const Policy& policy, std::int64_t wanted,
                double* out) {
  const auto features = static_cast<std::int64_t>(to.size());
  out[0] = row[0];
  for (std::int64_t j = 0; j < features; ++j) out[1 + to[static_cast<std::size_t>(j)]] = row[1 + j];
  if (policy.features == FeatureMap::fourier) std::copy_n(row + 1 + features, policy.fourier.width, out + 1 + wanted);
  if (policy.features != FeatureMap::quadratic) return;
  for (std::int64_t j = 0; j < features; ++j) {
    for (std::int64_t k = j; k < features; ++k) {
      const auto [low, high] = std::minmax(to[static_cast<std::size_t>(j)], to[static_cast<std::size_t>(k)]);
      out[1 + wanted + quadratic_index(low, high, wanted)] = row[1 + features + quadratic_index(j, k, features)];
    }
  }
}

void match_inputs(Policy& policy, const Names& columns, const std::string& name) {
  if (policy.inputs.empty() || columns.empty() || policy.inputs == columns || policy.outputs == 0) return;
  const std::vector<std::int64_t> to = places(policy.inputs, columns);
  for (std::size_t j = 0; j < to.size(); ++j) {
    if (to[j] >= 0) continue;
    throw Error(ErrorKind::data,
                fmt::format("needs a feature '{}', which the data does not have; {}", policy.inputs[j],
                            suggestion(policy.inputs[j], columns)),
                {.file = name});
  }
  const auto wanted = static_cast<std::int64_t>(columns.size());
  const std::int64_t length = 1 + mapped_features(policy, wanted);
  std::vector<double> theta(static_cast<std::size_t>(length * policy.outputs), 0.0);
  for (int k = 0; k < policy.outputs; ++k) {
    spread_row(policy.theta.data() + k * policy.row_length(), to, policy, wanted, theta.data() + k * length);
  }
  policy.theta = std::move(theta);
  policy.inputs = columns;
  // Frequencies were drawn in the order of the policy's own inputs.
  if (policy.features == FeatureMap::fourier) policy.fourier.columns = to;
}

void match_actions(Policy& policy, const Names& actions, const std::string& name) {
  if (policy.actions.empty() || actions.empty() || policy.actions == actions) return;
  const std::vector<std::int64_t> to = places(policy.actions, actions);
  const auto stranger = std::find(to.begin(), to.end(), -1);
  if (stranger != to.end() || policy.actions.size() != actions.size()) {
    const std::string which =
        stranger == to.end()
            ? fmt::format("it has {}, the data {}", count_of(policy.actions.size(), "action"), actions.size())
            : fmt::format("the data has no '{}'", policy.actions[static_cast<std::size_t>(stranger - to.begin())]);
    throw Error(ErrorKind::data, fmt::format("chooses among other actions than the data's: {}", which), {.file = name});
  }
  const auto length = static_cast<std::size_t>(policy.row_length());
  std::vector<double> theta(policy.theta.size());
  for (std::size_t k = 0; k < to.size() && !theta.empty(); ++k) {
    std::copy_n(policy.theta.data() + k * length, length, theta.data() + static_cast<std::size_t>(to[k]) * length);
  }
  policy.theta = std::move(theta);
  policy.actions = actions;
}

}  // namespace

Policy match_names(Policy policy, const Schema& schema, const std::string& name) {
  match_inputs(policy, schema.context_columns, name);
  match_actions(policy, schema.action_names, name);
  return policy;
}

}  // namespace scrm
