#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/archive_memory.hpp"
#include "cli/command.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/evaluation/evaluation_page.hpp"
#include "report/page/report_folder.hpp"
#include "report/sweep/sweep_page.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/archive/result_archive.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/limited_text.hpp"

namespace scrm {
namespace {

struct ReportCommand {
  std::string input;
  std::string out;
  bool overwrite = false;
  CommonOptions common;
};

// What a document takes at most once it is read, in bytes for each of its own: numbers as text become nodes of a tree.
constexpr std::size_t kJsonFactor = 12;

/// Whether the file begins as JSON does, and as no HDF5 file does.
bool looks_like_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  while (file.get(first) && (first == ' ' || first == '\n' || first == '\t' || first == '\r')) {
  }
  return file && (first == '{' || first == '[');
}

std::string name_of_file(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

Page evaluation_report(const std::string& path, MemoryLedger ledger) {
  const std::size_t left = ledger.left();
  const std::string text = read_limited_text(path, left == 0 ? std::size_t{1} << 40 : left / kJsonFactor, "evaluation");
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded())
    throw Error(ErrorKind::data, "is not JSON: it may have been cut off while it was written", {.file = path});
  return evaluation_page(json, path);
}

Page archive_report(const std::string& path, MemoryLedger ledger) {
  charge_archive(path, ledger);
  return sweep_page(read_archive(path), name_of_file(path));
}

/// What the report is about; the others are on the page.
const ReportTable* first_table(const Page& page) {
  for (const PageSection& section : page.sections) {
    for (const PageBlock& block : section.blocks) {
      if (const auto* table = std::get_if<ReportTable>(&block)) return table;
    }
  }
  return nullptr;
}

void run_report(const ReportCommand& command) {
  const Stopwatch watch;
  std::error_code error;
  if (std::filesystem::is_directory(command.input, error))
    throw Error(ErrorKind::file,
                "is a folder; give an archive that `scrm sweep` wrote, or what `scrm evaluate --json` printed",
                {.file = command.input});
  prepare_output_folder(command.out, {command.input}, command.common);
  require_report_folder(command.out, command.overwrite);
  const MemoryLedger ledger = MemoryLedger::of_process(command.common.memory);
  const Page page =
      looks_like_json(command.input) ? evaluation_report(command.input, ledger) : archive_report(command.input, ledger);
  const ReportFiles files = write_report(page, command.out);
  if (command.common.json) {
    const nlohmann::ordered_json out = {
        {"page", files.page}, {"tables", files.tables}, {"figures", files.figures}, {"seconds", watch.seconds()}};
    fmt::print("{}\n", json_text(out));
    return;
  }
  if (const ReportTable* table = first_table(page)) fmt::print("{}\n", terminal_text(*table));
  fmt::print("{} and {}; page: {}\n", counted(static_cast<std::int64_t>(files.tables.size() / 3), "table"),
             counted(static_cast<std::int64_t>(files.figures.size()), "figure"), styled(files.page, Style::strong));
}

}  // namespace

void add_report_command(CLI::App& program) {
  auto command = std::make_shared<ReportCommand>();
  CLI::App& app = *program.add_subcommand("report", "Turn a sweep or an evaluation into tables, figures and a page");
  app.footer(
      "Writes DIR/index.html, a page that needs nothing else, DIR/tables (Markdown, LaTeX, CSV) and DIR/figures "
      "(SVG).\n\n"
      "Example:\n  scrm sweep compare.toml --out results.h5\n  scrm report results.h5 --out report\n"
      "or\n  scrm evaluate logs --policy new.toml --weight-histogram --json > evaluation.json\n"
      "  scrm report evaluation.json --out report");
  app.add_option("input", command->input, "An archive of `scrm sweep`, or the output of `scrm evaluate --json`")
      ->required()
      ->type_name("FILE");
  app.add_option("--out", command->out, "The folder to write")->required()->type_name("DIR");
  app.add_flag("--overwrite", command->overwrite, "Replace a report that is there already");
  add_common_options(app, command->common);
  app.callback([command] { run_report(*command); });
}

}  // namespace scrm
