#include "sweep/file/toml_value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "scrm/io/file/error.hpp"

namespace scrm {

TomlValue::TomlValue(const toml::node& node, std::string key, std::string file)
    : node_(&node), key_(std::move(key)), file_(std::move(file)) {}

void TomlValue::fail(const std::string& what) const {
  throw Error(ErrorKind::usage, fmt::format("line {}: {}: {}", node_->source().begin.line, key_, what),
              {.file = file_});
}

double TomlValue::number(double least, double most) const {
  const auto value = node_->value<double>();
  if (!value || !(*value >= least && *value <= most)) {
    if (most < kMaxNumber) fail(fmt::format("wants a number from {} to {}", least, most));
    if (least == -kMaxNumber) fail("wants a finite number");
    fail(least == kAboveZero ? "wants a number above 0" : fmt::format("wants a number of {} or more", least));
  }
  return *value;
}

std::int64_t TomlValue::integer(std::int64_t least, std::int64_t most) const {
  const auto value = node_->value_exact<std::int64_t>();
  if (!value || *value < least || *value > most) {
    fail(fmt::format("wants a whole number from {} to {}", least, most));
  }
  return *value;
}

bool TomlValue::boolean() const {
  const auto value = node_->value_exact<bool>();
  if (!value) fail("wants true or false");
  return *value;
}

std::string TomlValue::text() const {
  const auto value = node_->value_exact<std::string>();
  if (!value || value->empty()) fail("wants a text in quotes");
  return *value;
}

std::vector<TomlValue> TomlValue::items() const {
  const toml::array* list = node_->as_array();
  if (list == nullptr) return {*this};
  if (list->empty()) fail("the list is empty");
  std::vector<TomlValue> out;
  for (const toml::node& item : *list) out.emplace_back(item, key_, file_);
  return out;
}

std::vector<double> TomlValue::numbers(double least) const {
  std::vector<double> out;
  for (const TomlValue& item : items()) {
    out.push_back(item.number(least));
    if (std::count(out.begin(), out.end(), out.back()) > 1) item.fail(fmt::format("{} comes twice", out.back()));
  }
  return out;
}

std::vector<std::string> TomlValue::names() const {
  const toml::array* list = node_->as_array();
  if (list == nullptr || list->empty()) fail("wants a list of names in quotes");
  std::vector<std::string> out;
  for (const TomlValue& item : items()) {
    const auto name = item.node_->value_exact<std::string>();
    if (!name || name->empty()) item.fail("wants names in quotes");
    if (std::find(out.begin(), out.end(), *name) != out.end()) item.fail(fmt::format("\"{}\" comes twice", *name));
    out.push_back(*name);
  }
  return out;
}

std::size_t TomlValue::choice(const std::vector<std::string>& words) const {
  const auto value = node_->value_exact<std::string>();
  const auto found = value ? std::find(words.begin(), words.end(), *value) : words.end();
  if (found == words.end()) fail(fmt::format("wants one of \"{}\"", fmt::join(words, "\", \"")));
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace scrm
