#include "text/csv/csv_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "file/text.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"
#include "text/csv/header_advice.hpp"

namespace scrm {

void fail_import(const std::string& what, const std::string& file) {
  throw Error(ErrorKind::usage, what, {.file = file});
}

bool repeats_header(std::span<const std::string_view> fields, const std::vector<std::string>& header) {
  return std::equal(fields.begin(), fields.end(), header.begin(), header.end(),
                    [](std::string_view field, const std::string& name) { return trimmed(field) == name; });
}

bool contains(const std::vector<std::size_t>& positions, std::size_t position) {
  return std::find(positions.begin(), positions.end(), position) != positions.end();
}

namespace {

bool is_prefix(const std::string& pattern) {
  return !pattern.empty() && pattern.back() == '*';
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
    if (found == positions_.end()) fail_missing(option, name);
    return found->second;
  }

  std::vector<std::size_t> take(const std::string& option, const std::string& name) {
    const std::size_t position = find(option, name);
    taken_[position] = true;
    return {position};
  }

  std::vector<std::size_t> take_all(const std::string& option, const std::vector<std::string>& patterns) {
    const std::vector<std::size_t> positions = expand_all(option, patterns);
    for (const std::size_t position : positions) taken_[position] = true;
    return positions;
  }

  /// Columns of each pattern.
  std::vector<std::vector<std::size_t>> expand_each(const std::string& option,
                                                    const std::vector<std::string>& patterns) const {
    std::vector<std::vector<std::size_t>> found;
    for (const std::string& pattern : patterns) found.push_back(expand(option, pattern));
    return found;
  }

  /// Whether it ends in a star, and is not the name of a column that does.
  bool is_pattern(const std::string& text) const { return is_prefix(text) && positions_.count(text) == 0; }

  bool taken(std::size_t position) const { return taken_[position]; }

  /// One pattern: a name, first:last or prefix*.
  std::vector<std::size_t> expand(const std::string& option, const std::string& pattern) const {
    if (positions_.count(pattern) != 0) return {find(option, pattern)};
    if (is_pattern(pattern)) {
      const std::string prefix = pattern.substr(0, pattern.size() - 1);
      std::vector<std::size_t> found = free_columns(0, header_.size(), prefix);
      if (found.empty()) fail_missing_prefix(option, prefix);
      return found;
    }
    const std::size_t colon = pattern.find(':');
    if (colon == std::string::npos) return {find(option, pattern)};
    const std::size_t first = find(option, pattern.substr(0, colon));
    const std::size_t last = find(option, pattern.substr(colon + 1));
    if (last < first)
      fail_import(fmt::format("{} {}: the columns stand in the other order in the file", option, pattern));
    return free_columns(first, last + 1, "");
  }

  std::vector<std::size_t> expand_all(const std::string& option, const std::vector<std::string>& patterns) const {
    std::vector<std::size_t> chosen;
    std::vector<bool> seen(header_.size(), false);
    for (const std::string& pattern : patterns) {
      for (const std::size_t position : expand(option, pattern)) {
        if (seen[position]) fail_import(fmt::format("{} has the column '{}' twice", option, header_[position]));
        seen[position] = true;
        chosen.push_back(position);
      }
    }
    return chosen;
  }

 private:
  /// A column without a name is an index, and no feature.
  std::vector<std::size_t> free_columns(std::size_t from, std::size_t to, const std::string& prefix) const {
    std::vector<std::size_t> found;
    for (std::size_t i = from; i < to; ++i)
      if (!taken_[i] && !header_[i].empty() && header_[i].compare(0, prefix.size(), prefix) == 0) found.push_back(i);
    return found;
  }

  [[noreturn]] void fail_missing(const std::string& option, const std::string& name) const {
    const std::string advice = header_advice(file_, header_, name, false);
    fail_import(fmt::format("{}: no column is named '{}'; {}", option, name,
                            advice.empty() ? suggestion(name, header_) : advice),
                file_);
  }

  [[noreturn]] void fail_missing_prefix(const std::string& option, const std::string& prefix) const {
    const std::string advice = header_advice(file_, header_, prefix, true);
    fail_import(fmt::format("{}: no column that is still free begins with '{}'{}{}", option, prefix,
                            advice.empty() ? "" : "; ", advice),
                file_);
  }

  const std::string& file_;
  const std::vector<std::string>& header_;
  std::map<std::string, std::size_t> positions_;
  std::vector<bool> taken_;
};

void validate_columns(const CsvImport& import) {
  const bool multilabel = import.action_kind == ActionKind::multilabel;
  if (import.action.empty()) fail_import("--action is missing: name the column of the logged action");
  if (import.loss.empty() == import.reward.empty())
    fail_import(import.loss.empty() ? "--loss (or --reward-column) is missing: name the column of what happened"
                                    : "--loss and --reward-column exclude each other");
  if (!import.propensity.empty() && !import.log_propensity.empty())
    fail_import("--propensity and --log-propensity exclude each other");
  if (!import.label_propensity.empty() && !multilabel) fail_import("--label-propensity is for multilabel actions");
  if (import.propensity.empty() && import.log_propensity.empty() && import.label_propensity.empty())
    fail_import("--propensity is missing: name the column with the probability or density of the logged action");
  if (import.num_actions < 0) fail_import("--num-actions must be at least 1");
  if (import.num_actions > 0 && import.action_kind == ActionKind::continuous)
    fail_import("--num-actions is for categorical actions");
}

/// What only the columns that patterns stand for can tell.
void validate_counts(const CsvImport& import, const CsvColumns& columns) {
  const bool multilabel = import.action_kind == ActionKind::multilabel;
  if (!multilabel && columns.action.size() != 1)
    fail_import("--action names several columns; only multilabel actions have one for each label");
  if (!columns.label_propensity.empty() && columns.label_propensity.size() != columns.action.size())
    fail_import(fmt::format("--label-propensity names {}, but --action names {}",
                            count_of(columns.label_propensity.size(), "column"), columns.action.size()));
  if (multilabel && import.num_actions > 0 && static_cast<std::size_t>(import.num_actions) != columns.action.size())
    fail_import(fmt::format("--num-actions is {}, but --action names {}", import.num_actions,
                            count_of(columns.action.size(), "label")));
}

/// The name of a target whose column was found by a pattern: what the pattern's star stands for, behind the name's own
/// prefix; without a star in the name, the column's.
std::string target_name(const std::string& name, const std::string& pattern, const std::string& column) {
  if (column == pattern) return name;
  if (!is_prefix(name) || !is_prefix(pattern)) return column;
  return name.substr(0, name.size() - 1) + column.substr(pattern.size() - 1);
}

/// The columns of one pattern, in the order of the labels that another pattern found, where the stars of both stand for
/// the same texts: q_b, q_a of tag_a, tag_b. Else as they are.
std::vector<std::size_t> in_order_of_labels(const std::string& label_pattern, const std::vector<std::size_t>& labels,
                                            const std::string& pattern, const std::vector<std::size_t>& positions,
                                            const std::vector<std::string>& header) {
  const auto stands_for = [&](const std::string& of, std::size_t position) {
    return header[position].substr(of.size() - 1);
  };
  std::map<std::string, std::size_t> by_text;
  for (const std::size_t position : positions) by_text.emplace(stands_for(pattern, position), position);
  std::vector<std::size_t> ordered;
  for (const std::size_t label : labels) {
    const auto found = by_text.find(stands_for(label_pattern, label));
    if (found == by_text.end()) return positions;
    ordered.push_back(found->second);
  }
  return ordered.size() == positions.size() ? ordered : positions;
}

/// Labels and their propensities, paired as they stand or, where both are patterns, by what the stars stand for.
void choose_labels(const CsvImport& import, ColumnSelector& selector, const std::vector<std::string>& header,
                   CsvColumns& columns) {
  const std::vector<std::vector<std::size_t>> labels = selector.expand_each("--action", import.action);
  columns.action = selector.take_all("--action", import.action);
  const std::vector<std::vector<std::size_t>> found =
      selector.expand_each("--label-propensity", import.label_propensity);
  columns.label_propensity = selector.take_all("--label-propensity", import.label_propensity);
  auto place = columns.label_propensity.begin();
  for (std::size_t i = 0; i < std::min(labels.size(), found.size()) && labels[i].size() == found[i].size(); ++i) {
    const std::string &label_pattern = import.action[i], &pattern = import.label_propensity[i];
    const bool stars = selector.is_pattern(label_pattern) && selector.is_pattern(pattern);
    const std::vector<std::size_t> ordered =
        stars ? in_order_of_labels(label_pattern, labels[i], pattern, found[i], header) : found[i];
    place = std::copy(ordered.begin(), ordered.end(), place);
  }
}

void choose_targets(const CsvImport& import, ColumnSelector& selector, const std::vector<std::string>& header,
                    CsvColumns& columns) {
  std::map<std::string, std::size_t> by_name;
  for (const auto& [name, pattern] : import.targets) {
    for (const std::size_t position : selector.take_all("--target", {pattern})) {
      const std::string own = target_name(name, pattern, header[position]);
      if (!by_name.emplace(own, position).second) fail_import(fmt::format("--target {} is given twice", own));
    }
  }
  for (const auto& [name, position] : by_name) {
    columns.schema.targets.push_back(name);
    columns.targets.push_back(position);
  }
}

/// The context, and which of its columns are categories. Those may be named there alone.
void choose_context(const CsvImport& import, const ColumnSelector& selector, const std::vector<std::string>& header,
                    CsvColumns& columns) {
  columns.context = selector.expand_all("--context", import.context);
  columns.categorical = selector.expand_all("--categorical", import.categorical);
  for (const std::size_t position : columns.categorical) {
    if (contains(columns.context, position)) continue;
    if (import.action_kind == ActionKind::categorical && contains(columns.action, position)) continue;
    if (selector.taken(position))
      fail_import(
          fmt::format("--categorical: the column '{}' has another role; where it is a feature too, --context names it",
                      header[position]));
    columns.context.push_back(position);
  }
}

std::vector<std::string> names_at(const std::vector<std::size_t>& positions, const std::vector<std::string>& header) {
  std::vector<std::string> names;
  for (const std::size_t position : positions) names.push_back(header[position]);
  return names;
}

}  // namespace

CsvColumns choose_columns(const CsvImport& import, const std::string& file, const std::vector<std::string>& header) {
  validate_columns(import);
  ColumnSelector selector(file, header);
  CsvColumns columns;
  Schema& schema = columns.schema;
  schema.action_kind = import.action_kind;
  // Names before patterns: a pattern takes what no other option names.
  schema.outcome = import.loss.empty() ? Outcome::reward : Outcome::loss;
  columns.loss =
      import.loss.empty() ? selector.take("--reward-column", import.reward) : selector.take("--loss", import.loss);
  schema.propensity = PropensityForm::label_product;
  if (!import.propensity.empty()) {
    schema.propensity = PropensityForm::linear;
    columns.propensity = selector.take("--propensity", import.propensity);
  } else if (!import.log_propensity.empty()) {
    schema.propensity = PropensityForm::logarithm;
    columns.propensity = selector.take("--log-propensity", import.log_propensity);
  }
  if (!import.cluster.empty()) columns.cluster = selector.take("--cluster", import.cluster);
  schema.cluster = !columns.cluster.empty();
  choose_labels(import, selector, header, columns);
  validate_counts(import, columns);
  schema.label_propensity = !columns.label_propensity.empty();
  schema.num_actions = import.num_actions;
  if (import.action_kind == ActionKind::multilabel) {
    schema.num_actions = static_cast<int>(columns.action.size());
    schema.action_names = names_at(columns.action, header);
  }
  choose_targets(import, selector, header, columns);
  choose_context(import, selector, header, columns);
  schema.context_type = import.float32 ? FloatType::f32 : FloatType::f64;
  return columns;
}

std::vector<std::string> leak_warnings(const CsvColumns& columns, const std::vector<std::string>& header) {
  using Role = std::pair<const std::vector<std::size_t>*, const char*>;
  const Role roles[] = {{&columns.loss, "the outcome"},
                        {&columns.action, "the logged action"},
                        {&columns.propensity, "the propensity of the logged action"},
                        {&columns.label_propensity, "a propensity of the logged labels"},
                        {&columns.targets, "a probability of the logged action"}};
  std::vector<std::string> warnings;
  for (const std::size_t position : columns.context)
    for (const auto& [positions, role] : roles)
      if (contains(*positions, position))
        warnings.push_back(fmt::format(
            "column '{}' is {}, and a feature too: nobody knows it before acting, so estimates and policies "
            "that use it are wrong; leave it out of --context",
            header[position], role));
  return warnings;
}

CsvColumns match_columns(const CsvImport& import, const CsvColumns& first, const std::vector<std::string>& first_header,
                         const std::string& file, const std::vector<std::string>& header) {
  const ColumnSelector selector(file, header);
  CsvColumns columns;
  columns.schema = first.schema;
  std::vector<bool> used(header.size(), false);
  const auto match = [&](const std::vector<std::size_t>& positions) {
    std::vector<std::size_t> matched;
    for (const std::size_t position : positions) {
      matched.push_back(selector.find("the first file's columns", first_header[position]));
      used[matched.back()] = true;
    }
    return matched;
  };
  columns.context = match(first.context);
  columns.action = match(first.action);
  columns.loss = match(first.loss);
  columns.propensity = match(first.propensity);
  columns.label_propensity = match(first.label_propensity);
  columns.targets = match(first.targets);
  columns.cluster = match(first.cluster);
  columns.categorical = match(first.categorical);
  for (const auto* patterns : {&import.context, &import.action, &import.label_propensity, &import.categorical}) {
    for (const std::string& pattern : *patterns) {
      if (!is_prefix(pattern) || std::find(header.begin(), header.end(), pattern) != header.end()) continue;
      for (std::size_t i = 0; i < header.size(); ++i)
        if (!used[i] && !header[i].empty() &&
            header[i].compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0)
          throw Error(ErrorKind::data,
                      fmt::format("'{}' fits the column '{}', which the first file does not have; name the columns "
                                  "one by one, or import the file apart",
                                  pattern, header[i]),
                      {.file = file});
    }
  }
  return columns;
}

CsvColumns choose_context_columns(const std::string& option, const std::string& file,
                                  const std::vector<std::string>& patterns, const std::vector<std::string>& header) {
  if (patterns.empty()) fail_import("--context is missing: name the columns of the features");
  CsvColumns columns;
  columns.context = expand_columns(option, file, patterns, header);
  columns.schema.stage = RowStage::contexts;
  return columns;
}

std::vector<std::size_t> expand_columns(const std::string& option, const std::string& file,
                                        const std::vector<std::string>& patterns,
                                        const std::vector<std::string>& header) {
  return ColumnSelector(file, header).expand_all(option, patterns);
}

}  // namespace scrm
