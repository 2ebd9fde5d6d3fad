/// The style sheet of a report's page: light and dark, from a phone's width up, and on paper.
#pragma once

#include <string_view>

namespace scrm {

std::string_view page_style() noexcept;

}  // namespace scrm
