/// read_policy within a memory budget.
#pragma once

#include <cstddef>
#include <string>

#include "scrm/kernels/policy.hpp"

namespace scrm {

/// As read_policy of policy_kind.hpp; a text that takes more than `memory` bytes to read is an Error of kind memory. 0:
/// no limit.
Policy read_policy(const std::string& path, std::size_t memory);

}  // namespace scrm
