/// Policies of the first features of wider contexts, such as those of FourierSource.
#pragma once

#include <cstdint>
#include <memory>

#include "scrm/engine/policy/target_policy.hpp"

namespace scrm {

/// The policy on blocks with more features than it knows, of which it reads the first so many. To the bit what it gives
/// on blocks that have these alone.
std::shared_ptr<const TargetPolicy> on_first_features(std::shared_ptr<const TargetPolicy> policy,
                                                      std::int64_t features);

}  // namespace scrm
