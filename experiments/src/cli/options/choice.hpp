/// Options whose value is one of a few words: a misspelt one is answered with them, and shells complete them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "scrm/io/file/spelling.hpp"

namespace scrm {

// CLI11 keeps validators and no words: a validator of this name answers this question with them.
inline constexpr const char* kSuggestions = "suggestions";
inline constexpr const char* kWhichWords = "\x1f?";

/// The validator at an index; null behind the last.
inline const CLI::Validator* validator_at(CLI::Option& option, int index) {
  try {
    return option.get_validator(index);
  } catch (const CLI::OptionNotFound&) {
    return nullptr;
  }
}

/// Words that shells complete the option's value with; they are not checked. Made when they are asked for: every
/// command starts by describing all of them.
inline CLI::Option* suggest(CLI::Option* option, const std::function<std::vector<std::string>()>& words) {
  return option->check(CLI::Validator(
      [words](std::string& given) { return given == kWhichWords ? fmt::format("{}", fmt::join(words(), " ")) : ""; },
      "", kSuggestions));
}

/// The words given to suggest(), one_of() or choose_among().
inline std::vector<std::string> suggested_words(CLI::Option& option) {
  std::vector<std::string> words;
  for (int index = 0; const CLI::Validator* validator = validator_at(option, index); ++index) {
    if (validator->get_name() != kSuggestions) continue;
    std::string question = kWhichWords;
    std::istringstream in((*validator)(question));
    for (std::string word; in >> word;) words.push_back(word);
  }
  return words;
}

/// What is said of a word that is none of these; nothing of one that is.
inline std::string complaint_about(const std::string& given, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), given) != words.end()) return "";
  const std::string meant = did_you_mean(given, words);
  return fmt::format("'{}' is none of {}{}{}", given, fmt::join(words, ", "), meant.empty() ? "" : "; ", meant);
}

/// Checks that an option's value, which stays as it is, is one of these words, and suggests them.
inline CLI::Validator one_of(const std::vector<std::string>& words) {
  return {[words](std::string& given) {
            return given == kWhichWords ? fmt::format("{}", fmt::join(words, " ")) : complaint_about(given, words);
          },
          fmt::format("{{{}}}", fmt::join(words, ",")), kSuggestions};
}

/// Turns the option's words into their values.
template <class Value>
CLI::Option* choose_among(CLI::Option* option, const std::map<std::string, Value>& values) {
  std::vector<std::string> words;
  for (const auto& [word, value] : values) words.push_back(word);
  const auto complaint = [words](const std::string& given) { return complaint_about(given, words); };
  // What is added last is asked first.
  option->transform(CLI::Transformer(values).description(""))->transform(CLI::Validator(complaint, ""));
  return suggest(option, [words] { return words; });
}

}  // namespace scrm
