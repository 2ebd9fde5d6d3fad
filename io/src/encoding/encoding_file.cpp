#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "file/toml_file.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/toml_text.hpp"
#include "scrm/io/import/encoding.hpp"

namespace scrm {
namespace {

using Names = std::vector<std::string>;

const Names kKeys = {"unseen", "impute", "num_actions", "actions", "column"};
const Names kColumnKeys = {"name", "kind", "levels", "fill", "missing"};
const Names kKinds = {"number", "date", "categorical"};
const Names kUnseen = {"other", "error"};
const Names kImpute = {"error", "mean", "zero"};

/// The text of an encoding on its way to an Encoding; every error names the file and a line.
class EncodingReader {
 public:
  EncodingReader(const std::string& path, std::size_t memory) : file_(path, "encoding", memory) {}

  Encoding read() const;

 private:
  [[noreturn]] void fail(const toml::node* node, std::string_view key, const std::string& what) const {
    file_.fail(node, key, what);
  }
  std::string text(const toml::table& table, std::string_view key) const;
  EncodedColumn read_column(const toml::table& table) const;
  void read_actions(const toml::table& table, Encoding& encoding) const;

  TomlFile file_;
};

std::string EncodingReader::text(const toml::table& table, std::string_view key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) fail(&table, key, "is missing");
  const auto value = node->value_exact<std::string>();
  if (!value) fail(node, key, "must be a text in quotes");
  return *value;
}

EncodedColumn EncodingReader::read_column(const toml::table& table) const {
  file_.check_keys(table, kColumnKeys, "columns of encodings");
  EncodedColumn column;
  column.name = text(table, "name");
  column.kind = static_cast<ColumnKind>(file_.word(table, "kind", kKinds).value_or(0));
  column.levels = file_.names(table, "levels");
  const toml::node* levels = table.get("levels");
  if (column.kind == ColumnKind::categorical && levels == nullptr)
    fail(&table, "levels", "is missing; a categorical column needs a list of them");
  if (column.kind != ColumnKind::categorical && levels != nullptr) fail(levels, "levels", "is for categorical columns");
  if (const toml::node* node = table.get("fill")) {
    const auto value = node->is_number() ? node->value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value)) fail(node, "fill", "must be a finite number");
    column.fill = *value;
  }
  if (const toml::node* node = table.get("missing")) {
    const auto value = node->value_exact<bool>();
    if (!value) fail(node, "missing", "must be true or false");
    column.missing = *value;
  }
  return column;
}

void EncodingReader::read_actions(const toml::table& table, Encoding& encoding) const {
  encoding.actions = file_.names(table, "actions");
  if (encoding.actions.size() > kMaxActionNames)
    fail(table.get("actions"), "actions", fmt::format("has more than {} names", kMaxActionNames));
  encoding.num_actions = static_cast<int>(encoding.actions.size());
  const toml::node* node = table.get("num_actions");
  if (node == nullptr) return;
  const auto value = node->value_exact<std::int64_t>();
  if (!value || *value < 1 || *value > std::numeric_limits<int>::max())
    fail(node, "num_actions", "must be a whole number of at least 1");
  if (!encoding.actions.empty() && static_cast<std::size_t>(*value) != encoding.actions.size())
    fail(node, "num_actions", fmt::format("is {}, but there are {} actions", *value, encoding.actions.size()));
  encoding.num_actions = static_cast<int>(*value);
}

Encoding EncodingReader::read() const {
  const toml::table table = file_.parse();
  file_.check_keys(table, kKeys, "encodings");
  Encoding encoding;
  encoding.unseen = static_cast<UnseenLevel>(file_.word(table, "unseen", kUnseen).value_or(0));
  encoding.impute = static_cast<Impute>(file_.word(table, "impute", kImpute).value_or(0));
  read_actions(table, encoding);
  const toml::node* node = table.get("column");
  const toml::array* columns = node != nullptr ? node->as_array() : nullptr;
  if (node != nullptr && columns == nullptr) fail(node, "column", "is written as [[column]], once for each column");
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; columns != nullptr && i < columns->size(); ++i) {
    const toml::table* one = (*columns)[i].as_table();
    if (one == nullptr) fail(&(*columns)[i], "column", "is written as [[column]], once for each column");
    encoding.columns.push_back(read_column(*one));
    if (!seen.insert(encoding.columns.back().name).second)
      fail(one, "name", fmt::format("'{}' is there twice", encoding.columns.back().name));
  }
  return encoding;
}

}  // namespace

Encoding read_encoding(const std::string& path, std::size_t memory) {
  return EncodingReader(path, memory > 0 ? memory : std::numeric_limits<std::size_t>::max()).read();
}

std::string encoding_text(const Encoding& encoding) {
  std::string text =
      "# How the columns of a table become features and actions. Written by scrm import; give it to import and act\n"
      "# with --encoding, so that the next file is encoded as this one was.\n";
  text += fmt::format("unseen = \"{}\"  # a level that is not listed: a feature of its own (other) or an error\n",
                      to_string(encoding.unseen));
  text += fmt::format("impute = \"{}\"  # what stands for a missing value: mean, zero, or it is an error\n",
                      to_string(encoding.impute));
  if (encoding.num_actions > 0) text += fmt::format("num_actions = {}\n", encoding.num_actions);
  if (!encoding.actions.empty()) text += "actions = " + toml_list(encoding.actions) + "\n";
  for (const EncodedColumn& column : encoding.columns) {
    text += fmt::format("\n[[column]]\nname = {}\nkind = \"{}\"\n", toml_string(column.name), to_string(column.kind));
    if (column.kind == ColumnKind::categorical) text += "levels = " + toml_list(column.levels) + "\n";
    if (column.kind != ColumnKind::categorical && encoding.impute != Impute::error)
      text += "fill = " + toml_float(column.fill) + "\n";
    if (column.missing) text += "missing = true\n";
  }
  return text;
}

}  // namespace scrm
