/// Words in messages: suggestions for mistyped ones, words of commands that are advised, and counts.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scrm {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
int edit_distance(std::string_view a, std::string_view b);

/// The known word closest to what was typed, when it is close enough to be meant: at most one edit in three letters, or
/// a prefix of exactly one known word. None for fewer than three letters.
std::optional<std::string> closest_word(std::string_view typed, const std::vector<std::string>& known);

/// "did you mean 'theta'?" with the closest word in these quotes; empty when none is close.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known, std::string_view quote = "'");

/// did_you_mean(), or "there is ..." with the known words, cut where the list gets long.
std::string suggestion(std::string_view typed, const std::vector<std::string>& known);

/// A path or a list as a shell takes it: in single quotes where it would be split or expanded otherwise.
std::string shell_word(const std::string& text);

/// A count and what it counts: "1 row", "2 rows".
template <std::integral Count>
std::string count_of(Count count, std::string_view one) {
  return std::to_string(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

}  // namespace scrm
