/// The `scrm` program as a function: its commands, its exit codes, its last words.
#pragma once

#include <functional>
#include <memory>

#include "scrm/engine/ranks/ranks.hpp"

namespace scrm {

/// Runs the command line. Returns 0 when done, 1 when the data or the run failed, 2 for wrong usage; messages go to
/// stderr. Nothing it calls throws through it.
int run_program(int argc, char** argv);

/// The same as one of several ranks. They are started when the process is what it stays: setting up its libraries may
/// execute the program anew. Only the first rank prints, writes, and returns another code than 0.
int run_program(int argc, char** argv, const std::function<std::unique_ptr<Ranks>()>& start_ranks);

}  // namespace scrm
