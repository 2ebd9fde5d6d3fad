/// The number of the cluster that a text names: the same in every file and every import.
#pragma once

#include <cstdint>
#include <string_view>

namespace scrm {

/// Integers stand for themselves; any other text for a hash of 63 bits, so that nothing has to be remembered. That
/// two out of a million names share one has a chance below one in ten million.
std::int64_t cluster_number(std::string_view text);

}  // namespace scrm
