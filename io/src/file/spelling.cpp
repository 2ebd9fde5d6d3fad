#include "scrm/io/file/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace scrm {
namespace {

/// Of UTF-8 text: bytes that do not go on with a character.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: a swap looks two rows back.
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::optional<std::string> closest_word(std::string_view typed, const std::vector<std::string>& known) {
  // One or two letters are close to everything.
  constexpr std::size_t kShortest = 3;
  if (characters(typed) < kShortest) return std::nullopt;
  std::vector<std::string> completions;
  for (const std::string& word : known) {
    if (word.compare(0, typed.size(), typed) == 0) completions.push_back(word);
  }
  if (completions.size() == 1) return completions.front();

  std::optional<std::string> best;
  int best_distance = static_cast<int>(typed.size()) / 3;
  for (const std::string& word : known) {
    const int distance = edit_distance(typed, word);
    if (distance < best_distance || (distance == best_distance && !best)) {
      best = word;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known, std::string_view quote) {
  const auto closest = closest_word(typed, known);
  return closest ? fmt::format("did you mean {0}{1}{0}?", quote, *closest) : "";
}

std::string suggestion(std::string_view typed, const std::vector<std::string>& known) {
  constexpr std::size_t kListed = 12;
  if (std::string meant = did_you_mean(typed, known); !meant.empty()) return meant;
  const auto shown = known.begin() + static_cast<std::ptrdiff_t>(std::min(known.size(), kListed));
  return fmt::format("there is {}{}", fmt::join(known.begin(), shown, ", "), shown == known.end() ? "" : ", ...");
}

std::string shell_word(const std::string& text) {
  static constexpr std::string_view kPlain = "_-+./,:=@%^";
  const auto plain = [](char c) {
    const bool ordinary = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return ordinary || static_cast<unsigned char>(c) >= 0x80 || kPlain.find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace scrm
