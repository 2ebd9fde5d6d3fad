#include "file/toml_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/limited_text.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {

toml::table TomlFile::parse() const {
  // Half for the text, since it grows by being copied.
  const std::string text = read_limited_text(path_, memory_ / 2, kind_ + " file");
  if (const std::size_t needed = toml_bytes(text); needed > memory_) {
    throw Error(ErrorKind::memory,
                fmt::format("reading this {} takes {:.1f} MiB and the memory budget leaves {:.1f} MiB; give a larger "
                            "--memory",
                            kind_, static_cast<double>(needed) / (1 << 20), static_cast<double>(memory_) / (1 << 20)),
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

void TomlFile::fail(const toml::node* node, std::string_view key, const std::string& what) const {
  const auto line = node != nullptr ? node->source().begin.line : 0;
  const std::string where = line > 0 ? fmt::format("line {}: ", line) : std::string();
  throw Error(ErrorKind::data, fmt::format("{}{}: {}", where, key, what), {.file = path_});
}

void TomlFile::check_keys(const toml::table& table, const Names& known, std::string_view things) const {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) == known.end())
      fail(&node, key.str(), fmt::format("{} have no such key; {}", things, suggestion(key.str(), known)));
  }
}

std::optional<std::size_t> TomlFile::word(const toml::table& table, std::string_view key, const Names& known) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  const auto text = node->value_exact<std::string_view>();
  if (!text) fail(node, key, fmt::format("must be a word in quotes; there is {}", fmt::join(known, ", ")));
  const auto found = std::find(known.begin(), known.end(), *text);
  if (found == known.end()) fail(node, key, fmt::format("'{}' is not known; {}", *text, suggestion(*text, known)));
  return static_cast<std::size_t>(found - known.begin());
}

TomlFile::Names TomlFile::names(const toml::table& table, std::string_view key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  const toml::array* list = node->as_array();
  if (list == nullptr) fail(node, key, "must be a list of texts in quotes");
  Names all;
  std::unordered_set<std::string> seen;
  for (const toml::node& element : *list) {
    const auto name = element.value_exact<std::string>();
    if (!name) fail(&element, key, "must be a list of texts in quotes");
    if (!seen.insert(*name).second) fail(&element, key, fmt::format("has '{}' twice", *name));
    all.push_back(*name);
  }
  return all;
}

}  // namespace scrm
