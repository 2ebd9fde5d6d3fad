#include "text/csv/column_lists.hpp"

#include <algorithm>
#include <string_view>

#include "file/text.hpp"

namespace scrm {
namespace {

/// Behind the closing quote of a text that begins with a quote; its end where there is none.
std::size_t behind_quotes(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    if (at + 1 == text.size() || text[at + 1] != '"') return at + 1;
    ++at;
  }
  return text.size();
}

/// A part without the quotes around it, doubled ones inside being one.
std::string unquoted(std::string_view part) {
  if (part.size() < 2 || part.front() != '"' || behind_quotes(part) != part.size() || part.back() != '"')
    return std::string(part);
  std::string name;
  for (std::size_t i = 1; i + 1 < part.size(); ++i) {
    name += part[i];
    if (part[i] == '"') ++i;
  }
  return name;
}

void split(std::string_view list, const std::vector<std::string>& header, std::vector<std::string>& out) {
  const auto is_name = [&header](std::string_view text) {
    return std::find(header.begin(), header.end(), text) != header.end();
  };
  if (is_name(list) || list.find(',') == std::string_view::npos) {
    out.push_back(is_name(list) ? std::string(list) : unquoted(list));
    return;
  }
  while (!list.empty()) {
    list.remove_prefix(std::min(list.find_first_not_of(" \t"), list.size()));
    const std::size_t from = list.starts_with('"') ? behind_quotes(list) : 0;
    const std::size_t comma = std::min(list.find(',', from), list.size());
    if (const std::string_view part = trimmed(list.substr(0, comma)); !part.empty())
      out.push_back(is_name(part) ? std::string(part) : unquoted(part));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

}  // namespace

std::vector<std::string> split_column_lists(const std::vector<std::string>& lists,
                                            const std::vector<std::string>& header) {
  std::vector<std::string> parts;
  for (const std::string& list : lists) split(list, header, parts);
  return parts;
}

}  // namespace scrm
