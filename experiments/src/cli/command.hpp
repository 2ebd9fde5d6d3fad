/// What every sub-command of the program shares: common options, and the list of commands.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scrm/engine/ranks/ranks.hpp"
#include "task/memory_size.hpp"
#include "task/task_options.hpp"

namespace scrm {

/// Options that every command has.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  int threads = 0;         ///< always at least 1 once parsed: default all cores
  std::size_t memory = 0;  ///< bytes; default half of the machine's memory
  Ranks* ranks = nullptr;  ///< null for commands that one process runs

  /// Whether this process prints and writes: the first rank.
  bool speaks() const noexcept { return ranks == nullptr || ranks->is_first(); }
  /// The same for a task, with a progress bar on stderr where that is a terminal and --quiet is not given.
  TaskOptions task() const;
  PassOptions pass(const std::string& label) const { return task().pass(label); }
  std::vector<PolicyFile> read_policies(const std::vector<std::string>& paths) const;
};

/// Whether the thread that runs a command works on its loops, or waits while others run its jobs.
enum class MainThread { works, waits };

/// Adds --json, --quiet, --threads and --memory (sizes like 512M, 4G, 1.5GiB). Ranks of one machine share its cores and
/// its memory unless they are told otherwise; options.ranks is set before. Once they are parsed the threads are
/// there; where the system refuses some, options.threads is how many there are, with a warning.
void add_common_options(CLI::App& command, CommonOptions& options, MainThread main_thread = MainThread::works);

inline constexpr int kMaxActions = 1 << 16;  ///< far beyond what fits a row, and small enough that no size overflows

// Options that several commands have, each said once; `help` is where what they do differs.
void add_shards_option(CLI::App& command, int& shards);
void add_compress_option(CLI::App& command, std::string& compress, const std::string& help);
void add_chunk_rows_option(CLI::App& command, std::int64_t& rows);
void add_rollout_option(CLI::App& command, int& rollout, const std::string& help);
void add_logging_policy_option(CLI::App& command, std::vector<std::string>& files, const std::string& use);
void add_reward_flag(CLI::App& command, bool& reward);

/// Ends the command with exit code 2.
[[noreturn]] void fail_usage(const std::string& what);

// One function per command, each in its own file cli/NAME.cpp: adds the sub-command, its help with an example, and
// the callback that runs it. Failures are thrown as Error. Registered in program.cpp. Those that take ranks can be run
// by several.
void add_simulate_command(CLI::App& program);
void add_import_command(CLI::App& program);
void add_inspect_command(CLI::App& program, Ranks& ranks);
void add_evaluate_command(CLI::App& program, Ranks& ranks);
void add_learn_command(CLI::App& program, Ranks& ranks);
void add_act_command(CLI::App& program);
void add_sweep_command(CLI::App& program, Ranks& ranks);
void add_merge_command(CLI::App& program);
void add_study_command(CLI::App& program);
void add_report_command(CLI::App& program);
void add_reproduce_command(CLI::App& program);

/// `completion` and `man`, which print what is made from all commands: to be added last. In cli/help.
void add_shell_commands(CLI::App& program);

}  // namespace scrm
