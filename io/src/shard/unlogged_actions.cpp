#include "scrm/io/shard/unlogged_actions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scrm {

std::vector<std::size_t> unlogged_actions(std::span<const std::int64_t> counts) {
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] == 0) out.push_back(k);
  }
  return out;
}

std::string listed_actions(std::span<const std::size_t> actions, std::span<const std::string> names) {
  constexpr std::size_t kListed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(kListed, actions.size()); ++i) {
    text += i > 0 ? ", " : "";
    text += names.empty() ? std::to_string(actions[i]) : names[actions[i]];
  }
  return actions.size() > kListed ? fmt::format("{} and {} more", text, actions.size() - kListed) : text;
}

std::string first_action_hint(std::span<const std::int64_t> counts, std::span<const std::string> names) {
  const bool only_first = names.empty() && counts.size() > 1 && counts.front() == 0 && counts[1] > 0;
  return only_first ? " (do your actions start at 1? they are numbered from 0)" : "";
}

std::string unlogged_actions_text(std::span<const std::int64_t> counts, std::span<const std::string> names) {
  const std::vector<std::size_t> never = unlogged_actions(counts);
  if (never.empty() || never.size() == counts.size()) return "";
  return fmt::format("{} {} {} never logged{}", never.size() == 1 ? "action" : "actions", listed_actions(never, names),
                     never.size() == 1 ? "was" : "were", first_action_hint(counts, names));
}

}  // namespace scrm
