/// What is said of the actions that a policy took.
#pragma once

#include <string>

#include "scrm/experiments/acting_source.hpp"

namespace scrm {

/// What logs with these actions will not show; empty where they show enough. `policy` is the file that acted.
std::string exploration_warning(const std::string& policy, const Schema& schema, const ActionTotals& totals);

}  // namespace scrm
