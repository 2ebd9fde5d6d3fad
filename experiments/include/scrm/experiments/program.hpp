/// The `scrm` program as a function: its commands, its exit codes, its last words.
#pragma once

namespace scrm {

/// Runs the command line. Returns 0 when done, 1 when the data or the run failed, 2 for wrong usage; messages go to
/// stderr. Nothing it calls throws through it.
int run_program(int argc, char** argv);

}  // namespace scrm
