/// Outputs of the commands: checked before any work is done, and cleaned up when a signal ends it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace scrm {

/// Fails where an output file is one of the inputs, or is there and may not be overwritten. Removes what killed
/// processes have left beside it, and says so.
void prepare_output_file(const std::string& out, const std::vector<std::string>& inputs, bool overwrite,
                         const CommonOptions& common);
/// The same for a folder of shards; what is in it is AtomicFolder's to judge.
void prepare_output_folder(const std::string& out, const std::vector<std::string>& inputs, const CommonOptions& common);

/// Takes back what killed processes have moved, removes what they have left, and says so.
void report_leftovers(const std::string& out, const CommonOptions& common);

/// Ctrl-C, a polite kill and the end of the terminal leave no temporary files behind; a file that grows beyond its
/// limit and a reader that has gone away are errors of the write that meets them.
void set_up_signals();
/// What set_up_signals() does on Ctrl-C and its like: removes temporaries, then ends the process by that signal.
void end_by_signal(int signal);

}  // namespace scrm
