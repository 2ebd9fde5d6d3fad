/// is_shard: whether a file is a shard of logged rows, by what it says of itself.
#pragma once

#include <string>

namespace scrm {

/// Whatever cannot be read as one is none; an Error of kind file when it cannot even be opened.
bool is_shard(const std::string& path);

}  // namespace scrm
