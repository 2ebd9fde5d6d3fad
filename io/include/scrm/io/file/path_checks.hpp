/// Checks of paths before work begins: inputs that can be read without waiting, outputs that destroy nothing.
#pragma once

#include <string>
#include <vector>

namespace scrm {

/// Throws when an input is a named pipe, a socket or a device, which would be waited for. What a shell hands over
/// ("/dev/stdin", "<(command)") is read; a path that leads nowhere is left to whoever opens it.
void require_file(const std::string& input);

/// Throws when two inputs are one file, under whatever names or links: its rows would count twice. Paths that lead
/// nowhere are left to whoever opens them.
void require_distinct(const std::vector<std::string>& inputs);

/// Throws when an output is one of these inputs: the same file or folder, under whatever name or link, or a folder that
/// holds one of them. Inputs that are folders stand for the shards in them too.
void require_not_input(const std::string& output, const std::vector<std::string>& inputs);

/// Throws when there is something under the name of an output file, unless it is a file that may be overwritten. A
/// symbolic link is something, even where it leads nowhere; overwriting writes to what it points to.
void require_replaceable(const std::string& output, bool overwrite);

}  // namespace scrm
