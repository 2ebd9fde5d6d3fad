/// Lists of columns as options take them, and the names, ranges and prefixes in them.
#pragma once

#include <string>
#include <vector>

namespace scrm {

/// The parts of all lists. A list whose whole text is the name of a column is that name; else commas part it, and a
/// part in double quotes, as CSV writes them, may hold commas itself.
std::vector<std::string> split_column_lists(const std::vector<std::string>& lists,
                                            const std::vector<std::string>& header);

}  // namespace scrm
