#include "file/suggestion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace scrm {
namespace {

constexpr std::size_t kListed = 12;

/// Letters to insert, delete or replace to get from one word to the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char letter : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (letter == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggestion(std::string_view typed, const std::vector<std::string>& known) {
  std::size_t best = typed.size() + 1;
  std::string_view nearest;
  for (const std::string& word : known) {
    const std::size_t distance = edit_distance(typed, word);
    if (distance < best) {
      best = distance;
      nearest = word;
    }
  }
  if (best <= (typed.size() + 2) / 3) return fmt::format("did you mean '{}'?", nearest);
  const auto shown = known.begin() + static_cast<std::ptrdiff_t>(std::min(known.size(), kListed));
  return fmt::format("there is {}{}", fmt::join(known.begin(), shown, ", "), shown == known.end() ? "" : ", ...");
}

}  // namespace scrm
