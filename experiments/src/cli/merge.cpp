#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/archive_memory.hpp"
#include "cli/command.hpp"
#include "cli/outputs.hpp"
#include "report/terminal.hpp"
#include "report/text/sweep_table.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/experiments/sweep.hpp"

namespace scrm {
namespace {

struct MergeCommand {
  std::vector<std::string> parts;
  std::string out;
  bool overwrite = false;
  CommonOptions common;
};

void require_memory(const MergeCommand& command) {
  MemoryLedger ledger = MemoryLedger::of_process(command.common.memory);
  for (const std::string& path : command.parts) charge_archive(path, ledger, "the runs of all parts");
}

void run(const MergeCommand& command) {
  prepare_output_file(command.out, command.parts, command.overwrite, command.common);
  require_memory(command);
  const MergeReport report = merge_parts(command.parts, command.out);
  const std::vector<SweepCell> cells = sweep_cells(report.runs);
  const auto failed =
      std::count_if(report.runs.begin(), report.runs.end(), [](const RunRecord& run) { return !run.ok; });
  const auto runs = static_cast<std::int64_t>(report.runs.size());
  if (failed > 0) {
    print_warning(fmt::format("{} of {} failed; run their parts again with --resume, and merge again", failed,
                              counted(runs, "run")),
                  command.common.quiet);
  }
  if (!command.common.json) {
    fmt::print("{}\n{} of {}.\narchive: {}\n", sweep_table(cells), counted(runs, "run"), counted(report.parts, "part"),
               styled(command.out, Style::strong));
    return;
  }
  nlohmann::json table = nlohmann::json::array();
  for (const SweepCell& cell : cells) table.push_back(to_json(cell));
  fmt::print(
      "{}\n",
      json_text(nlohmann::json{
          {"archive", command.out}, {"parts", report.parts}, {"runs", runs}, {"failed", failed}, {"table", table}}));
}

}  // namespace

void add_merge_command(CLI::App& program) {
  auto command = std::make_shared<MergeCommand>();
  CLI::App& app = *program.add_subcommand("merge", "Put the parts of a sweep together into one archive");
  app.footer(
      "The archive is the one that a single process would have written, but for times and hosts.\n"
      "Parts that are missing, come twice or belong to another sweep are named.\n"
      "Example:\n"
      "  for i in 1 2 3; do scrm sweep compare.toml --part $i/3 --out parts/$i.h5; done\n"
      "  scrm merge parts/*.h5 --out results.h5");
  app.add_option("parts", command->parts, "Archives that scrm sweep --part has written, in any order")
      ->required()
      ->type_name("PART.h5");
  app.add_option("--out", command->out, "The archive to write")->required()->type_name("RESULTS.h5");
  app.add_flag("--overwrite", command->overwrite, "Replace an archive that is there already");
  add_common_options(app, command->common);
  app.callback([command] { run(*command); });
}

}  // namespace scrm
