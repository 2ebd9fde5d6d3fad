/// Actions that no row of a log has, and how they are told.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace scrm {

/// The categories that `counts`, the rows by category, has no row of.
std::vector<std::size_t> unlogged_actions(std::span<const std::int64_t> counts);

/// "a, b, c, d, e and 7 more": the names, or numbers where there are no names.
std::string listed_actions(std::span<const std::size_t> actions, std::span<const std::string> names);

/// " (do your actions start at 1? they are numbered from 0)" where 0 alone, a number, was never logged; else nothing.
std::string first_action_hint(std::span<const std::int64_t> counts, std::span<const std::string> names);

/// A clause such as "actions 3, 4 and 5 were never logged"; empty where all were, or nothing was.
std::string unlogged_actions_text(std::span<const std::int64_t> counts, std::span<const std::string> names);

}  // namespace scrm
