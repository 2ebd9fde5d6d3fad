#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/interrupt_guard.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/sweep_progress.hpp"
#include "report/terminal.hpp"
#include "report/text/sweep_json.hpp"
#include "report/text/sweep_table.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/experiments/sweep.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"
#include "sweep/file/options.hpp"

namespace scrm {
namespace {

struct SweepCommand {
  std::string file;
  std::string part;
  SweepOptions options;
  std::uint64_t shuffle = 0;
  CommonOptions common;
};

std::string resume_command(const SweepCommand& command) {
  return fmt::format("scrm sweep {}{} --out {} --resume", shell_word(command.file),
                     command.part.empty() ? "" : " --part " + command.part, shell_word(command.options.out));
}

[[noreturn]] void throw_interrupted(const SweepCommand& command, const SweepReport& report) {
  // Runs that failed are tried again, so nothing of them is kept.
  const auto kept = static_cast<std::size_t>(
      std::count_if(report.runs.begin(), report.runs.end(), [](const RunRecord& run) { return run.ok; }));
  throw Error(ErrorKind::run,
              fmt::format("stopped on request: {} of {} runs are finished and kept in {}; go on with `{}`", kept,
                          report.runs.size() + report.unfinished, report.journal, resume_command(command)));
}

/// An error of the files that finished runs are in, with what to type once there is room for them.
Error with_resume_command(const Error& error, const SweepCommand& command) {
  const std::string text = error.what();
  const bool archive = error.place().file == command.options.out;
  const bool journal = error.place().file == sweep_journal(command.options.out);
  std::error_code ignored;
  if (error.kind() != ErrorKind::file || (!archive && !journal) || (journal && text.find("--resume") == text.npos) ||
      !std::filesystem::exists(sweep_journal(command.options.out), ignored))
    return error;
  return {ErrorKind::file, archive ? fmt::format("{}; the finished runs are kept in {}: go on with `{}`", text,
                                                 sweep_journal(command.options.out), resume_command(command))
                                   : fmt::format("{}: `{}`", text, resume_command(command))};
}

void print_summary(const SweepCommand& command, const SweepReport& report, double seconds, double cpu_seconds) {
  std::vector<SweepCell> cells = sweep_cells(report.runs);
  add_inapplicable(report.inapplicable, cells);
  fmt::print("{}", sweep_table(cells));
  fmt::print(
      "\n{} run{}{} in {} ({} of CPU time). Loss: mean ± sd over seeds, hyper-parameters the best of their lists by "
      "the mean.\n",
      with_commas(static_cast<std::int64_t>(report.runs.size())), report.runs.size() == 1 ? "" : "s",
      report.resumed > 0 ? fmt::format(", {} of them from before,", report.resumed) : "", human_seconds(seconds),
      human_seconds(cpu_seconds));
  fmt::print("archive: {}\n", styled(command.options.out, Style::strong));
  if (!command.part.empty()) {
    fmt::print("This is part {}; when all are there: scrm merge PART.h5... --out RESULTS.h5\n", command.part);
  }
}

void run(SweepCommand& command) {
  const Stopwatch watch;
  const std::clock_t cpu_begin = std::clock();
  const SweepFile file(command.file);
  SweepOptions options = command.options;
  if (!command.part.empty()) options.part = parse_part(command.part);
  options.threads = command.common.threads;
  options.memory = command.common.task().ledger().left();
  options.ranks = command.common.ranks;
  options.on_warning = [&command](const std::string& text) { print_warning(text, command.common.quiet); };
  for (const std::string& path : {options.out, sweep_journal(options.out)}) {
    if (command.common.speaks()) report_leftovers(path, command.common);
  }
  SweepReport report;
  {
    SweepProgress progress(command.common.quiet);
    options.on_progress = [&progress](const SweepState& state) { progress.update(state); };
    const InterruptGuard guard(options.stop);
    try {
      report = run_sweep(file, options);
    } catch (const Error& error) {
      throw with_resume_command(error, command);
    }
  }
  if (!command.common.speaks()) return;
  if (report.unfinished > 0) throw_interrupted(command, report);
  const double seconds = watch.seconds();
  const double cpu_seconds = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  std::size_t failed = 0;
  const RunRecord* first_failure = nullptr;
  for (const RunRecord& record : report.runs) {
    failed += !record.ok;
    if (!record.ok && first_failure == nullptr) first_failure = &record;
  }
  if (command.common.json) {
    fmt::print("{}\n", json_text(sweep_json(
                           report, {command.options.out, command.part, seconds, cpu_seconds, command.common.threads})));
  } else {
    print_summary(command, report, seconds, cpu_seconds);
  }
  if (failed == 0) return;
  const std::string others =
      failed < report.runs.size() ? fmt::format("The others are in {}, and ", command.options.out) : "";
  throw Error(ErrorKind::run,
              fmt::format("{} of {} runs failed, the first of them {} / {} with seed {}: {}. {}`{}` tries the failed "
                          "ones again",
                          failed, report.runs.size(), first_failure->environment, first_failure->method,
                          first_failure->seed, first_failure->message, others, resume_command(command)));
}

std::string keys_help() {
  std::string text =
      "Keys of FILE.toml; all but the first four may also stand in [environment.NAME] or [method.NAME]:\n";
  for (const SweepOption& option : sweep_options()) {
    text += fmt::format("  {:<19}{} ({})\n", option.key, option.help, option.values);
  }
  return text +
         "[method.NAME] makes a method NAME of its own with like = \"METHOD\".\n"
         "Left out, past and warm_start are, for continuous actions, \"last\" and true, as in the paper. For labelled\n"
         "data they are \"all-balance\" (the paper: \"all-naive\", which holds with protocol = \"published\") and "
         "false.\n"
         "So they are on categorical and multilabel, which the paper does not have.\n\n";
}

}  // namespace

void add_sweep_command(CLI::App& program, Ranks& ranks) {
  auto command = std::make_shared<SweepCommand>();
  command->common.ranks = &ranks;
  CLI::App& app =
      *program.add_subcommand("sweep", "Run methods x environments x hyper-parameters x seeds into one archive");
  app.footer(keys_help() +
             "Example, with compare.toml:\n"
             "  environments = [\"pricing\", \"advertising\"]\n"
             "  methods      = [\"baseline\", \"crm\", \"scrm\", \"skyline\"]\n"
             "  seeds        = 10\n"
             "then:\n"
             "  scrm sweep compare.toml --out results.h5\n"
             "Stopped or killed, the same command with --resume goes on where it was. Many machines at once:\n"
             "  scrm sweep compare.toml --part 3/64 --out parts/3.h5     # the third of 64 processes\n"
             "  scrm merge parts/*.h5 --out results.h5");
  app.add_option("file", command->file, "What to run, in TOML")->required()->type_name("FILE.toml");
  app.add_option("--out", command->options.out, "The archive to write")->required()->type_name("RESULTS.h5");
  app.add_option("--part", command->part,
                 "Run one of N parts of the sweep, of about equal cost; scrm merge puts their archives together")
      ->type_name("I/N");
  auto* resume =
      app.add_flag("--resume", command->options.resume, "Go on with what is finished: skip it, run the rest");
  app.add_flag("--overwrite", command->options.overwrite, "Replace an archive that is there already")->excludes(resume);
  auto* shuffle =
      app.add_option("--shuffle", command->shuffle, "Start runs in an order drawn from this seed")->type_name("SEED");
  add_common_options(app, command->common, MainThread::waits);
  app.callback([command, shuffle] {
    if (shuffle->count() > 0) command->options.shuffle_seed = command->shuffle;
    run(*command);
  });
}

}  // namespace scrm
