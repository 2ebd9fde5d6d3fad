#include "text/csv_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "scrm/io/error.hpp"
#include "scrm/io/spelling.hpp"

namespace scrm {
namespace {

[[noreturn]] void fail_usage(const std::string& what) {
  throw Error(ErrorKind::usage, what);
}

/// Finds columns by name, and remembers which ones have a role.
class ColumnSelector {
 public:
  ColumnSelector(const std::string& file, const std::vector<std::string>& header) : file_(file), header_(header) {
    for (std::size_t i = 0; i < header.size(); ++i) positions_.emplace(header[i], i);
    taken_.assign(header.size(), false);
  }

  std::size_t find(const std::string& option, const std::string& name) const {
    const auto found = positions_.find(name);
    if (found == positions_.end())
      throw Error(ErrorKind::usage,
                  fmt::format("{}: no column is named '{}'; {}", option, name, suggestion(name, header_)),
                  {.file = file_});
    return found->second;
  }

  std::size_t take(const std::string& option, const std::string& name) {
    const std::size_t position = find(option, name);
    taken_[position] = true;
    return position;
  }

  std::vector<std::size_t> take_all(const std::string& option, const std::vector<std::string>& names) {
    std::vector<std::size_t> positions;
    for (const std::string& name : names) positions.push_back(take(option, name));
    return positions;
  }

  /// One --context value: a name, first:last or prefix*.
  std::vector<std::size_t> expand(const std::string& pattern) const {
    if (positions_.count(pattern) != 0) return {find("--context", pattern)};
    if (!pattern.empty() && pattern.back() == '*') {
      const std::string prefix = pattern.substr(0, pattern.size() - 1);
      std::vector<std::size_t> found = free_columns(0, header_.size(), prefix);
      if (found.empty()) fail_usage(fmt::format("--context: no column that is still free begins with '{}'", prefix));
      return found;
    }
    const std::size_t colon = pattern.find(':');
    if (colon == std::string::npos) return {find("--context", pattern)};
    const std::size_t first = find("--context", pattern.substr(0, colon));
    const std::size_t last = find("--context", pattern.substr(colon + 1));
    if (last < first)
      fail_usage(fmt::format("--context {}: the columns stand in the other order in the file", pattern));
    return free_columns(first, last + 1, "");
  }

 private:
  std::vector<std::size_t> free_columns(std::size_t from, std::size_t to, const std::string& prefix) const {
    std::vector<std::size_t> found;
    for (std::size_t i = from; i < to; ++i)
      if (!taken_[i] && header_[i].compare(0, prefix.size(), prefix) == 0) found.push_back(i);
    return found;
  }

  const std::string& file_;
  const std::vector<std::string>& header_;
  std::map<std::string, std::size_t> positions_;
  std::vector<bool> taken_;
};

void validate_columns(const CsvImport& import) {
  const bool multilabel = import.action_kind == ActionKind::multilabel;
  if (import.action.empty()) fail_usage("--action is missing: name the column of the logged action");
  if (!multilabel && import.action.size() != 1)
    fail_usage("--action names several columns; only multilabel actions have one for each label");
  if (import.loss.empty() == import.reward.empty())
    fail_usage(import.loss.empty() ? "--loss (or --reward-column) is missing: name the column of what happened"
                                   : "--loss and --reward-column exclude each other");
  if (!import.propensity.empty() && !import.log_propensity.empty())
    fail_usage("--propensity and --log-propensity exclude each other");
  if (!import.label_propensity.empty() && !multilabel) fail_usage("--label-propensity is for multilabel actions");
  if (!import.label_propensity.empty() && import.label_propensity.size() != import.action.size())
    fail_usage(fmt::format("--label-propensity names {} columns, but there are {} labels",
                           import.label_propensity.size(), import.action.size()));
  if (import.propensity.empty() && import.log_propensity.empty() && import.label_propensity.empty())
    fail_usage("--propensity is missing: name the column with the probability or density of the logged action");
  if (import.num_actions < 0) fail_usage("--num-actions must be at least 1");
  if (import.num_actions > 0 && import.action_kind == ActionKind::continuous)
    fail_usage("--num-actions is for categorical actions");
  if (multilabel && import.num_actions > 0 && static_cast<std::size_t>(import.num_actions) != import.action.size())
    fail_usage(
        fmt::format("--num-actions is {}, but --action names {} labels", import.num_actions, import.action.size()));
}

void choose_targets(const CsvImport& import, ColumnSelector& selector, CsvColumns& columns) {
  std::map<std::string, std::size_t> by_name;
  for (const auto& [name, column] : import.targets)
    if (!by_name.emplace(name, selector.take("--target", column)).second)
      fail_usage(fmt::format("--target {} is given twice", name));
  for (const auto& [name, position] : by_name) {
    columns.schema.targets.push_back(name);
    columns.targets.push_back(position);
  }
}

std::vector<std::size_t> choose_context(const std::vector<std::string>& patterns, const ColumnSelector& selector,
                                        const std::vector<std::string>& header) {
  std::vector<std::size_t> chosen;
  for (const std::string& pattern : patterns) {
    for (const std::size_t position : selector.expand(pattern)) {
      if (std::find(chosen.begin(), chosen.end(), position) != chosen.end())
        fail_usage(fmt::format("--context has the column '{}' twice", header[position]));
      chosen.push_back(position);
    }
  }
  return chosen;
}

}  // namespace

CsvColumns choose_columns(const CsvImport& import, const std::vector<std::string>& header) {
  validate_columns(import);
  ColumnSelector selector(import.file, header);
  CsvColumns columns;
  Schema& schema = columns.schema;
  schema.action_kind = import.action_kind;
  columns.action = selector.take_all("--action", import.action);
  schema.num_actions =
      import.action_kind == ActionKind::multilabel ? static_cast<int>(columns.action.size()) : import.num_actions;
  columns.loss =
      import.loss.empty() ? selector.take("--reward-column", import.reward) : selector.take("--loss", import.loss);
  columns.loss_sign = import.loss.empty() ? -1 : 1;

  schema.propensity = PropensityForm::label_product;
  if (!import.propensity.empty()) {
    schema.propensity = PropensityForm::linear;
    columns.propensity = {selector.take("--propensity", import.propensity)};
  } else if (!import.log_propensity.empty()) {
    schema.propensity = PropensityForm::logarithm;
    columns.propensity = {selector.take("--log-propensity", import.log_propensity)};
  }
  columns.label_propensity = selector.take_all("--label-propensity", import.label_propensity);
  schema.label_propensity = !columns.label_propensity.empty();
  choose_targets(import, selector, columns);
  columns.context = choose_context(import.context, selector, header);
  schema.features = static_cast<std::int64_t>(columns.context.size());
  schema.context_type = import.float32 ? FloatType::f32 : FloatType::f64;
  return columns;
}

std::vector<std::size_t> choose_context_columns(const std::string& file, const std::vector<std::string>& patterns,
                                                const std::vector<std::string>& header) {
  if (patterns.empty()) fail_usage("--context is missing: name the columns of the features");
  return choose_context(patterns, ColumnSelector(file, header), header);
}

}  // namespace scrm
