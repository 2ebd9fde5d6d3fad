#include "scrm/io/import/encoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "file/text.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

constexpr const char* kOther = "other";

bool has_level(const EncodedColumn& column, const char* level) {
  return std::find(column.levels.begin(), column.levels.end(), level) != column.levels.end();
}

}  // namespace

bool has_other_feature(const EncodedColumn& column, const Encoding& encoding) {
  return column.kind == ColumnKind::categorical && encoding.unseen == UnseenLevel::other && !has_level(column, kOther);
}

std::int64_t feature_count(const EncodedColumn& column, const Encoding& encoding) {
  const std::int64_t missing = column.missing ? 1 : 0;
  if (column.kind != ColumnKind::categorical) return 1 + missing;
  return static_cast<std::int64_t>(column.levels.size()) + (has_other_feature(column, encoding) ? 1 : 0) + missing;
}

namespace {

/// A level as it can be told from another that only differs in line breaks.
std::string shown_level(const std::string& level) {
  std::string shown;
  for (const char c : level) shown += c == '\n' ? std::string("\\n") : std::string(1, c);
  return shown;
}

/// Two levels of one column, or two columns, come to one name.
[[noreturn]] void fail_same_name(const Encoding& encoding, const std::string& name) {
  for (const EncodedColumn& column : encoding.columns) {
    std::vector<std::string> levels;
    for (const std::string& level : column.levels)
      if (name_text(fmt::format("{}={}", column.name, level)) == name) levels.push_back(shown_level(level));
    if (levels.size() > 1)
      throw Error(
          ErrorKind::usage,
          fmt::format("column '{}': its values '{}' and '{}' would both be the feature '{}', since names have no "
                      "line breaks; spell them alike in the file, or leave the column out of --categorical",
                      column.name, levels[0], levels[1], name));
  }
  throw Error(ErrorKind::usage,
              fmt::format("two features would have the name '{}'; rename one of the columns they come from", name));
}

}  // namespace

std::vector<std::string> feature_names(const Encoding& encoding) {
  std::vector<std::string> names;
  for (const EncodedColumn& column : encoding.columns) {
    if (column.kind != ColumnKind::categorical) names.push_back(column.name);
    for (const std::string& level : column.levels) names.push_back(fmt::format("{}={}", column.name, level));
    if (has_other_feature(column, encoding)) names.push_back(fmt::format("{}={}", column.name, kOther));
    if (column.missing) names.push_back(column.name + " missing");
  }
  for (std::string& name : names) name = name_text(name);
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second) fail_same_name(encoding, name);
  return names;
}

std::vector<std::string> one_line_names(const std::vector<std::string>& actions) {
  std::vector<std::string> names;
  std::unordered_map<std::string, const std::string*> seen;
  for (const std::string& action : actions) {
    const auto [before, is_new] = seen.emplace(name_text(action), &action);
    if (!is_new)
      throw Error(
          ErrorKind::usage,
          fmt::format("the actions '{}' and '{}' would both have the name '{}', since names have no line breaks; "
                      "spell them alike in the file where they are one action, and apart where they are two",
                      shown_level(*before->second), shown_level(action), before->first));
    names.push_back(before->first);
  }
  return names;
}

const char* to_string(ColumnKind kind) noexcept {
  switch (kind) {
    case ColumnKind::number:
      return "number";
    case ColumnKind::date:
      return "date";
    case ColumnKind::categorical:
      return "categorical";
  }
  return "";
}

const char* to_string(UnseenLevel unseen) noexcept {
  return unseen == UnseenLevel::other ? "other" : "error";
}

const char* to_string(Impute impute) noexcept {
  switch (impute) {
    case Impute::error:
      return "error";
    case Impute::mean:
      return "mean";
    case Impute::zero:
      return "zero";
  }
  return "";
}

}  // namespace scrm
