/// Temporary files and folders that outputs are written under: those of this process, and what killed ones have left.
#pragma once

#include <string>
#include <vector>

namespace scrm {

/// What was found beside an output, of processes that were killed.
struct Leftovers {
  std::vector<std::string> removed;  ///< temporary files and folders
  bool restored = false;             ///< the output is back: a folder that was away while another took its place
};

/// Removes what processes that no longer live have left beside this output (a file or a folder). Those at work hold a
/// lock on theirs, which ends with them whatever ends them; process numbers, which come again, play no part.
Leftovers clear_leftovers(const std::string& output);

/// Removes all temporaries of this process, for a signal handler that ends it right after: safe in one, and a thread
/// that is about to give one of them its name waits for the end instead.
void remove_temporaries() noexcept;

}  // namespace scrm
