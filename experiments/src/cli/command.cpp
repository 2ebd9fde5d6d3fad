#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cli/options/choice.hpp"
#include "cli/startup/thread_reserve.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/policy/read_policy.hpp"
#include "scrm/engine/ranks/agreement.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/threads.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/io/file/error.hpp"
#include "task/address_space.hpp"

namespace scrm {
namespace {

/// Makes the threads that the command will use and puts the number right where there are fewer, and the memory where
/// there is less.
void start_threads(CommonOptions& options, MainThread main_thread) {
  options.memory = memory_in_address_space(options.memory);
  // Of its stack a thread that only waits has touched this much, and threads may take a quarter of all.
  constexpr std::size_t kTouchedStack = std::size_t{96} << 10U;
  const auto affordable = static_cast<int>(std::clamp<std::size_t>(options.memory / 4 / kTouchedStack, 1, 1 << 16));
  if (options.threads > affordable) {
    print_warning(fmt::format("{} threads do not fit into --memory; going on with {}", options.threads, affordable),
                  options.quiet);
    options.threads = affordable;
  }
  const int working = main_thread == MainThread::works ? 1 : 0;
  const ReservedThreads reserved = reserve_threads(options.threads - working);
  if (reserved.error == 0) return;
  const int asked = options.threads;
  options.threads = std::max(1, reserved.started + working);
  if (options.threads == asked) return;
  print_warning(fmt::format("only {} of {} threads could be started ({}); going on with {}", options.threads, asked,
                            std::strerror(reserved.error), options.threads == 1 ? "one" : "these"),
                options.quiet);
}

}  // namespace

TaskOptions CommonOptions::task() const {
  TaskOptions options;
  options.threads = threads;
  options.memory = memory;
  options.ranks = ranks;
  options.progress = [quiet = quiet](const std::string& label, const std::string& unit) {
    return progress_bar(label, quiet, unit);
  };
  options.warn = [quiet = quiet](const std::string& text) { print_warning(text, quiet); };
  return options;
}

std::vector<PolicyFile> CommonOptions::read_policies(const std::vector<std::string>& paths) const {
  std::vector<PolicyFile> policies;
  for (const std::string& path : paths) policies.push_back({path, read_policy(path, task().ledger().left())});
  return policies;
}

void add_common_options(CLI::App& command, CommonOptions& options, MainThread main_thread) {
  options.threads = options.ranks != nullptr ? options.ranks->cores() : resolve_threads(0);
  options.memory = machine_memory() / 2;
  if (options.ranks != nullptr) options.memory /= static_cast<std::size_t>(options.ranks->local_ranks());
  options.quiet = !options.speaks();
  command.add_flag("--json", options.json, "Machine-readable result on stdout")->group("Common");
  command.add_flag("--quiet", options.quiet, "No progress and no warnings")->group("Common");
  // Many more threads than cores gain nothing; the bound catches slips of the keyboard.
  command.add_option("--threads", options.threads, "Threads to use; default all cores")
      ->check(CLI::Range(1, 4096))
      ->type_name("N")
      ->group("Common");
  command
      .add_option_function<std::string>(
          "--memory", [&options](const std::string& text) { options.memory = parse_size(text); },
          "Memory to stay within, such as 512M or 4G, 64M at least; default half the machine's")
      ->type_name("SIZE")
      ->group("Common");
  command.parse_complete_callback([&options, main_thread] {
    start_threads(options, main_thread);
    if (options.ranks != nullptr) options.threads = static_cast<int>(least_of_ranks(*options.ranks, options.threads));
  });
}

void add_shards_option(CLI::App& command, int& shards) {
  // Names have five digits.
  command.add_option("--shards", shards, "Files to split the rows over; default 1")
      ->check(CLI::Range(1, 100'000))
      ->type_name("K");
}

void add_compress_option(CLI::App& command, std::string& compress, const std::string& help) {
  command.add_option("--compress", compress, help)->check(one_of({"gzip", "none"}))->type_name("HOW");
}

void add_chunk_rows_option(CLI::App& command, std::int64_t& rows) {
  command.add_option("--chunk-rows", rows, "Rows in a chunk of the files; default 65,536")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31))
      ->type_name("N");
}

void add_rollout_option(CLI::App& command, int& rollout, const std::string& help) {
  command.add_option("--rollout", rollout, help)->check(CLI::Range(0, kMaxRollout))->type_name("T");
}

void add_logging_policy_option(CLI::App& command, std::vector<std::string>& files, const std::string& use) {
  command.add_option("--logging-policy", files, "The policy that logged a rollout; repeat it in rollout order " + use)
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void add_reward_flag(CLI::App& command, bool& reward) {
  command.add_flag("--reward", reward, "`loss` holds rewards: larger is better. Not needed where the data says so");
}

void fail_usage(const std::string& what) {
  throw Error(ErrorKind::usage, what);
}

}  // namespace scrm
