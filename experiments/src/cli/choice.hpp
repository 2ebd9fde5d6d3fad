/// Options whose value is one of a few words, which a misspelt one is answered with.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "scrm/io/spelling.hpp"

namespace scrm {

/// Turns the option's words into their values.
template <class Value>
CLI::Option* choose_among(CLI::Option* option, const std::map<std::string, Value>& values) {
  std::vector<std::string> words;
  for (const auto& [word, value] : values) words.push_back(word);
  const auto complaint = [words](const std::string& given) -> std::string {
    if (std::find(words.begin(), words.end(), given) != words.end()) return "";
    const std::string meant = did_you_mean(given, words);
    return fmt::format("'{}' is none of {}{}{}", given, fmt::join(words, ", "), meant.empty() ? "" : "; ", meant);
  };
  // What is added last is asked first.
  return option->transform(CLI::Transformer(values).description(""))->transform(CLI::Validator(complaint, ""));
}

}  // namespace scrm
