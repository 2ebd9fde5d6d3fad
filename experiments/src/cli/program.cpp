#include "scrm/experiments/program.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "cli/help/help_formatter.hpp"
#include "cli/outputs.hpp"
#include "cli/startup/file_limit.hpp"
#include "cli/startup/openblas_repair.hpp"
#include "cli/startup/rank_facts.hpp"
#include "cli/startup/thread_reserve.hpp"
#include "report/terminal.hpp"
#include "report/version.hpp"
#include "scrm/engine/ranks/agreement.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/io/file/temporaries.hpp"
#include "scrm/kernels/vector/isa.hpp"

namespace scrm {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

void register_commands(CLI::App& program, Ranks& ranks) {
  add_simulate_command(program);
  add_import_command(program);
  add_inspect_command(program, ranks);
  add_evaluate_command(program, ranks);
  add_learn_command(program, ranks);
  add_act_command(program);
  add_sweep_command(program, ranks);
  add_merge_command(program);
  add_study_command(program);
  add_report_command(program);
  add_reproduce_command(program);
  add_shell_commands(program);
}

/// What `scrm` alone says: enough to take the first step.
void print_overview(const CLI::App& program) {
  std::string text = fmt::format("{} {}\nWhat would another policy have done, and which one should run next?\n\n{}\n",
                                 styled("scrm", Style::strong), version(), styled("Commands", Style::strong));
  for (const CLI::App* command : program.get_subcommands({})) {
    text += fmt::format("  {:<12}{}\n", command->get_name(), command->get_description());
  }
  text += fmt::format("\n{}\n", styled("First steps", Style::strong));
  text += "  scrm simulate pricing --rows 100000 --seed 1 --out logs\n";
  text += "  scrm inspect logs\n";
  text += "  scrm help COMMAND\n";
  fmt::print("{}", text);
}

void print_error(const std::string& message, const std::string& hint) {
  const char* red = stderr_has_colour() ? "\033[1;31m" : "";
  const char* dim = stderr_has_colour() ? "\033[2m" : "";
  const char* plain = stderr_has_colour() ? "\033[0m" : "";
  std::string text = fmt::format("{}scrm: error:{} {}\n", red, plain, printable(message));
  if (!hint.empty()) text += fmt::format("{}hint: {}{}\n", dim, printable(hint), plain);
  // A failure to write here has nowhere to be reported.
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

/// The sub-command that is being parsed, or the program itself.
const CLI::App& current_command(const CLI::App& program) {
  const auto parsed = program.get_subcommands();
  return parsed.empty() ? program : *parsed.front();
}

std::string help_hint(const CLI::App& program) {
  const CLI::App& command = current_command(program);
  return &command == &program ? "`scrm --help` lists the commands"
                              : fmt::format("`scrm {} --help` shows its options and an example", command.get_name());
}

/// A hint for an option that does not exist: the closest one that does.
std::string option_hint(const CLI::App& program, const std::vector<std::string>& arguments) {
  const CLI::App& command = current_command(program);
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& argument : arguments) {
    const std::string given = argument.substr(0, argument.find('='));
    if (given.rfind("--", 0) != 0 || std::find(known.begin(), known.end(), given) != known.end()) continue;
    if (std::string meant = did_you_mean(given, known, ""); !meant.empty()) return meant;
  }
  return help_hint(program);
}

/// `scrm help COMMAND` as `scrm COMMAND --help`, and `scrm help` as `scrm --help`.
void replace_help_command(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help") return;
  if (arguments.size() > 2) fail_usage("`scrm help` takes the name of one command");
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
}

/// Throws when the first word is no command: CLI11 would only call it an unexpected argument.
void check_command_name(const CLI::App& program, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().rfind('-', 0) == 0) return;
  const std::string& given = arguments.front();
  std::vector<std::string> known;
  for (const CLI::App* command : program.get_subcommands({})) known.push_back(command->get_name());
  if (std::find(known.begin(), known.end(), given) != known.end()) return;
  const std::string meant = did_you_mean(given, known);
  throw Error(ErrorKind::usage, fmt::format("there is no command '{}'{}{}", given, meant.empty() ? "" : "; ", meant));
}

/// A forced instruction set that is not there must not be passed over in silence.
void check_instruction_set() {
  if (environment_isa_is_valid()) return;
  std::string names;
  for (const char* name : available_isas()) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  throw Error(ErrorKind::usage,
              fmt::format("SCRM_ISA={} is not available here; choose among {}", std::getenv("SCRM_ISA"), names));
}

int exit_code_of(ErrorKind kind) {
  return kind == ErrorKind::usage ? kWrongUsage : kFailed;
}

/// What was given with --memory where it is below the least that is promised to be enough; else empty.
std::string too_little_memory(const CLI::App& program) {
  constexpr std::size_t kLeastMemory = std::size_t{64} << 20;
  const CLI::Option* option = current_command(program).get_option_no_throw("--memory");
  if (option == nullptr || option->count() == 0) return "";
  const std::string given = option->results().back();
  return parse_size(given) < kLeastMemory ? given : "";
}

std::string hint_for(ErrorKind kind, const CLI::App& program) {
  switch (kind) {
    case ErrorKind::usage:
      return help_hint(program);
    case ErrorKind::memory:
      if (const std::string given = too_little_memory(program); !given.empty())
        return fmt::format("--memory {} is less than 64M, the least that every command works with; give at least that",
                           given);
      return "give it more with --memory, for instance --memory 8G";
    case ErrorKind::data:
    case ErrorKind::file:
    case ErrorKind::run:
      break;
  }
  return "";
}

/// Whether nobody reads standard output any more. Asked of the pipe, since text that does not fit a buffer fails long
/// before the end, where nobody keeps the reason.
bool reader_has_left() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

/// Everything written so far must have arrived. A reader that went away early (`| head`) wanted no more: that is no
/// error.
int finish_output(int exit_code) {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && !std::cout.bad();
  if (flushed || errno == EPIPE || reader_has_left() || exit_code != kDone)
    return exit_code;  // a failure has been told of already
  print_error(
      fmt::format("cannot write to standard output{}", errno != 0 ? fmt::format(": {}", std::strerror(errno)) : ""),
      "nothing is missing from files that were written; free some space or write elsewhere");
  return std::max(exit_code, kFailed);
}

/// Most commands are one process's work: several ranks would all do it, and write the same files.
void check_ranked_command(const Ranks& ranks, const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 4> kRanked = {"evaluate", "learn", "inspect", "sweep"};
  if (ranks.alone() || arguments.empty() || arguments.front().starts_with('-')) return;
  if (std::find(kRanked.begin(), kRanked.end(), arguments.front()) != kRanked.end()) return;
  throw Error(ErrorKind::usage, fmt::format("`{}` does not run over ranks, only {} do; start `scrm {}` by itself",
                                            arguments.front(), fmt::join(kRanked, ", "), arguments.front()));
}

/// How a command ended.
struct Ending {
  int exit_code = kDone;
  ErrorKind kind = ErrorKind::run;
  std::string message = {}, hint = {};

  std::optional<Failure> failure(const Ranks& ranks) const {
    if (exit_code == kDone) return std::nullopt;
    return Failure{ranks.rank(), kind, message};
  }
};

Ending parse_and_run(CLI::App& program, std::vector<std::string> arguments, Ranks& ranks) {
  try {
    check_instruction_set();
    require_same_on_ranks(ranks, rank_facts(arguments));
    replace_help_command(arguments);
    check_command_name(program, arguments);
    check_ranked_command(ranks, arguments);
    std::vector<std::string> last_first(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
    program.parse(last_first);
    if (program.get_subcommands().empty()) print_overview(program);
    return {};
  } catch (const CLI::CallForVersion&) {
    fmt::print("{}", version_text());
    return {};
  } catch (const CLI::Success& request) {  // --help
    return {.exit_code = program.exit(request, std::cout, std::cerr)};
  } catch (const CLI::ExtrasError& error) {
    return {kWrongUsage, ErrorKind::usage, error.what(), option_hint(program, arguments)};
  } catch (const CLI::ParseError& error) {
    return {kWrongUsage, ErrorKind::usage, error.what(), help_hint(program)};
  } catch (const Error& error) {
    return {exit_code_of(error.kind()), error.kind(), error.what(), hint_for(error.kind(), program)};
  } catch (const std::bad_alloc&) {
    return {kFailed, ErrorKind::run, "out of memory",
            "lower --memory so that less is held at once, or raise the limit this process runs under"};
  } catch (const std::system_error& error) {
    if (error.code().value() == EPIPE) return {};
    return {kFailed, ErrorKind::run, error.what()};
  } catch (const std::exception& error) {
    return {kFailed, ErrorKind::run, error.what()};
  }
}

/// Waits for all ranks; one of them says how they ended, once.
int end_ranks(Ranks& ranks, const CLI::App& program, Ending ending) {
  if (!ranks.alone()) {
    const std::optional<Failure> first = finish_ranks(ranks, ending.failure(ranks));
    if (!ranks.is_first()) return kDone;
    if (first && ending.exit_code == kDone)
      ending = {exit_code_of(first->kind), first->kind,
                fmt::format("{} (on rank {} of {})", first->message, first->rank, ranks.size()),
                hint_for(first->kind, program)};
  }
  if (ending.exit_code != kDone && !ending.message.empty()) print_error(ending.message, ending.hint);
  return finish_output(ending.exit_code);
}

/// Where an exception can go no further, as inside TBB when memory has run out: says why and ends, with no core dump.
[[noreturn]] void end_with_message() {
  std::string what = "an unknown failure";
  try {
    if (const auto current = std::current_exception()) std::rethrow_exception(current);
  } catch (const std::bad_alloc&) {
    what = "out of memory";
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  print_error(what, "fewer --threads and a lower --memory need less of the system");
  remove_temporaries();
  std::_Exit(kFailed);
}

int run_commands(int argc, char** argv, const std::function<std::unique_ptr<Ranks>()>& start_ranks) {
  set_up_signals();
  std::set_terminate(end_with_message);
  raise_file_limit();
  repair_openblas(argv);
  const std::unique_ptr<Ranks> ranks = start_ranks();
  if (!ranks->is_first() && std::freopen("/dev/null", "w", stdout) == nullptr) ranks->abort("cannot open /dev/null");

  CLI::App program("Evaluate and learn decision policies from logged bandit data.", "scrm");
  program.require_subcommand(0, 1);
  program.set_version_flag("-V,--version", version(), "Version, compiler, instruction set and libraries");
  program.footer("`scrm help COMMAND` shows a command's options and an example.");
  program.formatter(std::make_shared<HelpFormatter>());
  program.get_formatter()->column_width(34);
  register_commands(program, *ranks);
  return end_ranks(*ranks, program, parse_and_run(program, {argv + 1, argv + std::max(argc, 1)}, *ranks));
}

}  // namespace

int run_program(int argc, char** argv) {
  return run_program(argc, argv, [] { return std::make_unique<SerialRanks>(); });
}

int run_program(int argc, char** argv, const std::function<std::unique_ptr<Ranks>()>& start_ranks) {
  return run_with_enough_stack([&] { return run_commands(argc, argv, start_ranks); });
}

}  // namespace scrm
