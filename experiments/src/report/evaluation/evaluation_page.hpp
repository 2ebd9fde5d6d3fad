/// evaluation_page: the report of what `scrm evaluate --json` printed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/page/page.hpp"

namespace scrm {

/// `name` is the path of the document: its last part is what it is called on the page, and all of it the place of
/// errors. Throws a data Error where the document is no result of `evaluate --json`.
Page evaluation_page(const nlohmann::ordered_json& evaluation, const std::string& name);

}  // namespace scrm
