#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/interrupt_guard.hpp"
#include "cli/options/choice.hpp"
#include "report/clock.hpp"
#include "report/page/report_folder.hpp"
#include "report/sweep_progress.hpp"
#include "report/terminal.hpp"
#include "reproduce/reproduction.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSweeps = "sweeps";

struct ReproduceCommand {
  std::vector<std::string> parts;
  std::string protocol = "both";
  std::string data_dir;
  std::string out;
  bool quick = false;
  CommonOptions common;
};

/// The option, then the variable, then ./data.
std::string data_folder(const ReproduceCommand& command) {
  if (!command.data_dir.empty()) return command.data_dir;
  const char* variable = std::getenv("SCRM_DATA_DIR");
  return variable != nullptr && *variable != '\0' ? variable : "./data";
}

/// Sweeps of this command are kept in the folder, beside the report; anything else there is not ours.
void require_out_folder(const std::string& out) {
  std::error_code error;
  if (fs::is_directory(fs::path(out) / kSweeps, error)) return;
  require_report_folder(out, true);
}

std::vector<std::string> all_parts(const ReproduceCommand& command) {
  if (command.parts.empty() || std::find(command.parts.begin(), command.parts.end(), "all") != command.parts.end())
    return reproducible_parts();
  return command.parts;
}

ReproduceOptions reproduce_options(const ReproduceCommand& command) {
  ReproduceOptions options;
  options.quick = command.quick;
  if (command.protocol != "both") options.protocols = {command.protocol};
  options.data_dir = fs::absolute(data_folder(command)).lexically_normal().string();
  std::vector<std::string> missing;
  for (const char* data_set : {"scene", "yeast", "tmc2007"}) {
    if (!has_files(data_set, options.data_dir))
      missing.push_back(fmt::format("{} ({})", data_set, wanted_files(data_set)));
    else if (!command.quick || std::string(data_set) != "tmc2007")
      options.data_sets.emplace_back(data_set);
  }
  if (!missing.empty())
    print_warning(
        fmt::format("not in {}, and left out: {}. They are published among the multi-label data sets of the "
                    "Mulan library (mulan.sourceforge.net, under the names scene, yeast and tmc2007-500), each "
                    "with an .xml that names its labels; put them there, or say where they are with --data-dir "
                    "or the variable SCRM_DATA_DIR",
                    options.data_dir, fmt::join(missing, "; ")),
        command.common.quiet);
  return options;
}

void print_step(const ReproduceStep& step, const CommonOptions& common) {
  if (common.quiet) return;
  write_stderr(fmt::format("[{}/{}] {}, about {} left on two cores\n", step.number, step.all, step.name,
                           human_seconds(step.cost_left)));
}

Page run_parts(const ReproduceCommand& command, const std::string& sweeps) {
  ReproduceRun run;
  run.parts = all_parts(command);
  run.options = reproduce_options(command);
  run.cache.folder = sweeps;
  run.cache.threads = command.common.threads;
  run.cache.memory = MemoryLedger::of_process(command.common.memory).left();
  std::unique_ptr<SweepProgress> progress;
  run.cache.on_progress = [&progress](const SweepState& state) {
    if (progress) progress->update(state);
  };
  run.cache.on_warning = [](const std::string&) {};  // methods that cannot play somewhere are expected here
  run.on_step = [&](const ReproduceStep& step) {
    progress.reset();
    print_step(step, command.common);
    progress = std::make_unique<SweepProgress>(command.common.quiet);
  };
  run.on_study = progress_bar("estimators", command.common.quiet, "logs");
  const InterruptGuard guard(run.cache.stop);
  return reproduce(run);
}

void run_reproduce(const ReproduceCommand& command) {
  const Stopwatch watch;
  const std::clock_t cpu_begin = std::clock();
  require_out_folder(command.out);
  const std::string sweeps = (fs::path(command.out) / kSweeps).string();
  std::error_code error;
  fs::create_directories(sweeps, error);
  if (error) throw Error(ErrorKind::file, "cannot make a folder here: " + error.message(), {.file = command.out});
  const Page page = run_parts(command, sweeps);
  const ReportFiles files = write_report(page, command.out);
  const double cpu_seconds = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  if (command.common.json) {
    const nlohmann::ordered_json out = {{"page", files.page},
                                        {"tables", files.tables},
                                        {"figures", files.figures},
                                        {"seconds", watch.seconds()},
                                        {"cpu_seconds", cpu_seconds}};
    fmt::print("{}\n", json_text(out));
    return;
  }
  for (const PageSection& section : page.sections) {
    for (const PageBlock& block : section.blocks) {
      if (const auto* table = std::get_if<ReportTable>(&block))
        fmt::print("{}\n{}\n", styled(table->caption, Style::strong), terminal_text(*table));
    }
  }
  fmt::print("{} and {} in {} ({} of CPU time); page: {}\n",
             counted(static_cast<std::int64_t>(files.tables.size() / 3), "table"),
             counted(static_cast<std::int64_t>(files.figures.size()), "figure"), human_seconds(watch.seconds()),
             human_seconds(cpu_seconds), styled(files.page, Style::strong));
}

}  // namespace

void add_reproduce_command(CLI::App& program) {
  auto command = std::make_shared<ReproduceCommand>();
  CLI::App& app = *program.add_subcommand("reproduce", "The paper's tables and figures, ours beside theirs, as a page");
  app.footer(
      "Sweeps are kept in DIR/sweeps: stopped or killed, the same command goes on where it was, and what was run "
      "before\n"
      "is not run again. scene, yeast and tmc2007 are read from --data-dir, else from the variable SCRM_DATA_DIR, "
      "else\n"
      "from ./data, and left out where they are not there.\n\n"
      "Example:\n  scrm reproduce table1 fig1 --quick --out paper\n  scrm reproduce all --out paper");
  std::map<std::string, std::string> parts = {{"all", "all"}};
  for (const std::string& part : reproducible_parts()) parts[part] = part;
  choose_among(app.add_option("part", command->parts,
                              "table1, table2, table3, fig1, fig2, fig3, fig4, fig8 or all; default all"),
               parts)
      ->type_name("PART");
  app.add_option("--out", command->out, "The folder to write")->required()->type_name("DIR");
  app.add_flag("--quick", command->quick, "Fewer seeds, lambdas and rollouts, and no tmc2007: about a minute");
  choose_among(app.add_option("--protocol", command->protocol,
                              "paper, published (with what the released code does differently) or both; default both"),
               std::map<std::string, std::string>{{"paper", "paper"}, {"published", "published"}, {"both", "both"}})
      ->type_name("WHICH");
  app.add_option("--data-dir", command->data_dir, "Where scene, yeast and tmc2007 are")->type_name("DIR");
  add_common_options(app, command->common, MainThread::waits);
  app.callback([command] { run_reproduce(*command); });
}

}  // namespace scrm
