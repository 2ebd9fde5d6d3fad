/// Sizes of memory: the machine's, and those that people write.
#pragma once

#include <cstddef>
#include <string>

namespace scrm {

/// Bytes of memory this process may use: the machine's, or less inside a container with a limit.
std::size_t machine_memory();

/// Bytes of "512M", "4G", "1.5GiB", "1000000"; throws a usage Error that shows an example.
std::size_t parse_size(const std::string& text);

}  // namespace scrm
