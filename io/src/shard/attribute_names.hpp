/// attribute_names: the names of columns or actions that a shard has in an attribute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hdf5/hdf5_file.hpp"

namespace scrm {

/// The names in an attribute of the root, which must number `count`; none when there is no such attribute. `thing` is
/// what one of them names, for messages.
std::vector<std::string> attribute_names(const Hdf5File& file, const std::string& attribute, std::int64_t count,
                                         const char* thing);

}  // namespace scrm
