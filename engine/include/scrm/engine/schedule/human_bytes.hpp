/// human_bytes: a number of bytes as people write it.
#pragma once

#include <string>

namespace scrm {

/// "1.5 MiB": in the largest unit of which there is at least one.
std::string human_bytes(double bytes);

}  // namespace scrm
