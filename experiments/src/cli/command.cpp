#include "cli/command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "cli/startup/thread_reserve.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/ranks/agreement.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/threads.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"

namespace scrm {
namespace {

/// Bytes of memory this process may use: the machine's, or less inside a container with a limit.
std::size_t available_memory() {
  std::size_t bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::size_t limit = 0;
    if (std::ifstream(file) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

/// Bytes in one unit; 0 when there is no such unit. As in the GNU tools, M is 2^20 and MB is 10^6.
double unit_bytes(std::string unit) {
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::toupper(c); });
  if (unit.empty() || unit == "B") return 1;
  const std::size_t power = std::string("KMGT").find(unit.front());
  if (power == std::string::npos) return 0;
  const std::string rest = unit.substr(1);
  if (rest.empty() || rest == "IB") return std::pow(1024.0, static_cast<double>(power) + 1);
  return rest == "B" ? std::pow(1000.0, static_cast<double>(power) + 1) : 0;
}

/// Makes the threads that the command will use and puts the number right where there are fewer, and the memory where
/// there is less.
void start_threads(CommonOptions& options, MainThread main_thread) {
  if (const std::optional<std::size_t> space = address_space_left()) {
    if (*space < kLeastAddressSpace) {
      throw Error(
          ErrorKind::run,
          fmt::format("the address space is limited (ulimit -v or -d) and {} of it are left, where "
                      "{} are needed; raise the limit",
                      human_bytes(static_cast<double>(*space)), human_bytes(static_cast<double>(kLeastAddressSpace))));
    }
    options.memory = std::min(options.memory, *space / 4);
  }
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

PassOptions CommonOptions::pass(const std::string& label) const {
  PassOptions options;
  options.threads = threads;
  options.memory = memory_left();
  options.progress = progress_bar(label, quiet);
  options.ranks = ranks;
  return options;
}

std::size_t CommonOptions::memory_left() const {
  const std::size_t left = MemoryLedger::of_process(memory).left();
  return ranks == nullptr ? left : static_cast<std::size_t>(least_of_ranks(*ranks, static_cast<std::int64_t>(left)));
}

void add_common_options(CLI::App& command, CommonOptions& options, MainThread main_thread) {
  options.threads = options.ranks != nullptr ? options.ranks->cores() : resolve_threads(0);
  options.memory = available_memory() / 2;
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
          "Memory to stay within, such as 512M or 4G; default half the machine's")
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
  command.add_option("--compress", compress, help)->check(CLI::IsMember({"gzip", "none"}))->type_name("HOW");
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

std::size_t parse_size(const std::string& text) {
  const auto fail_size = [&](const char* why) -> std::size_t {
    fail_usage(fmt::format("size '{}' {}; write for instance 512M, 4G or 1.5GiB", text, why));
  };
  const std::size_t digits = std::min(text.find_first_not_of("+-.0123456789"), text.size());
  const std::optional<double> number = parse_double(text.substr(0, digits));
  if (!number) return fail_size("is not a number with a unit");
  const double unit = unit_bytes(text.substr(std::min(text.find_first_not_of(" \t", digits), text.size())));
  if (unit == 0) return fail_size("has a unit that is none of K, M, G, T");
  const double bytes = std::floor(*number * unit);
  if (bytes < 1) return fail_size("is less than one byte");
  if (bytes >= static_cast<double>(std::numeric_limits<std::int64_t>::max()))
    return fail_size("is larger than any machine");
  return static_cast<std::size_t>(bytes);
}

}  // namespace scrm
