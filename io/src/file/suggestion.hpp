/// Help for words that are not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scrm {

/// "did you mean 'theta'?" when a known word is near, otherwise "there is ..." with the list, cut where it gets long.
std::string suggestion(std::string_view typed, const std::vector<std::string>& known);

}  // namespace scrm
