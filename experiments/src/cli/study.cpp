#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options/choice.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "report/text/coverage_text.hpp"
#include "report/version.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/archive/coverage_archive.hpp"
#include "study/coverage.hpp"

namespace scrm {
namespace {

struct StudyCommand {
  std::string study;
  std::vector<std::string> designs;
  CoverageOptions options;
  std::string out;
  bool overwrite = false;
  CommonOptions common;
};

struct StudyDefinition {
  const char* name;
  const char* description;
};

constexpr StudyDefinition kStudies[] = {{"coverage", "how often intervals hold a truth that is known"}};

void list_studies(bool json) {
  if (json) {
    nlohmann::json studies = nlohmann::json::array();
    for (const auto& [name, description] : kStudies) studies.push_back({{"name", name}, {"description", description}});
    fmt::print("{}\n", json_text(nlohmann::json{{"studies", studies}}));
    return;
  }
  fmt::print("{}\n", styled("Studies", Style::strong));
  for (const auto& [name, description] : kStudies) fmt::print("  {:<12}{}\n", name, description);
  fmt::print("\n`scrm study --help` shows their options and an example.\n");
}

/// What was given, each once and in order: a study that ran a thing twice would say it twice.
template <class Value>
std::vector<Value> each_once(const std::vector<Value>& values) {
  std::set<Value> seen;
  std::vector<Value> out;
  for (const Value& value : values) {
    if (seen.insert(value).second) out.push_back(value);
  }
  return out;
}

CoverageOptions study_options(const StudyCommand& command) {
  CoverageOptions options = command.options;
  constexpr auto kLargestSeed = std::numeric_limits<std::int64_t>::max();  // the archive has signed numbers
  if (options.seed > static_cast<std::uint64_t>(kLargestSeed))
    fail_usage(fmt::format("--seed is {}, but at most {}", options.seed, kLargestSeed));
  if (command.designs.empty()) {
    for (const StudyDesign& design : study_designs()) options.designs.push_back(&design);
  }
  for (const std::string& name : each_once(command.designs)) options.designs.push_back(&find_study_design(name));
  // The bootstrap takes a hundred times as long as the others together.
  if (options.intervals.empty())
    options.intervals = {IntervalKind::automatic, IntervalKind::normal, IntervalKind::student,
                         IntervalKind::cressie_read};
  options.intervals = each_once(options.intervals);
  options.rows = each_once(options.rows);
  options.threads = command.common.threads;
  options.memory = MemoryLedger::of_process(command.common.memory).left();
  return options;
}

void print_json(const StudyCommand& command, const CoverageOptions& options, const CoverageArchive& archive,
                double seconds) {
  nlohmann::json designs = nlohmann::json::array(), table = nlohmann::json::array();
  for (const StudyDesign* design : options.designs) designs.push_back(to_json(*design));
  for (const CoverageRecord& record : archive.records) table.push_back(to_json(record));
  const nlohmann::json out = {{"study", command.study},
                              {"archive", command.out.empty() ? nlohmann::json() : nlohmann::json(command.out)},
                              {"logs", options.logs},
                              {"level", archive.level},
                              {"seed", archive.seed},
                              {"seconds", seconds},
                              {"threads", options.threads},
                              {"designs", designs},
                              {"table", table}};
  fmt::print("{}\n", json_text(out));
}

void run_coverage(StudyCommand& command) {
  const Stopwatch watch;
  CoverageOptions options = study_options(command);
  if (!command.out.empty()) prepare_output_file(command.out, {}, command.overwrite, command.common);
  options.progress = progress_bar("coverage", command.common.quiet);
  CoverageArchive archive{static_cast<std::int64_t>(options.seed), options.level, version(),
                          run_coverage_study(options)};
  if (!command.out.empty()) write_coverage_archive(command.out, archive);
  for (const std::string& interval : normal_in_all_but_name(archive)) {
    print_warning(
        fmt::format("{} gave the normal interval on every log: what stands here under its name is normal's", interval),
        command.common.quiet);
  }
  if (command.common.json) return print_json(command, options, archive, watch.seconds());
  fmt::print("{}", coverage_text(archive));
  fmt::print("{} of each design and size in {}.\n", counted(options.logs, "log"), human_seconds(watch.seconds()));
  if (!command.out.empty()) fmt::print("archive: {}\n", styled(command.out, Style::strong));
}

std::string study_help() {
  std::string text = "Studies:\n";
  for (const auto& [name, description] : kStudies) text += fmt::format("  {:<22}{}\n", name, description);
  text += "\nDesigns, all with a policy whose value is known:\n";
  for (const StudyDesign& design : study_designs())
    text += fmt::format("  {:<22}{}\n", design.name, design.description);
  text += "\nIntervals hold when:\n";
  for (const IntervalDefinition& interval : all_intervals())
    text += fmt::format("  {:<22}{}\n", interval.name, interval.holds);
  return text +
         "\nExample:\n  scrm study coverage --design near,rare-0.01 --interval normal,student --logs 200 --out "
         "study.h5";
}

void add_coverage_options(CLI::App& app, StudyCommand& command) {
  std::vector<std::string> designs;
  for (const StudyDesign& design : study_designs()) designs.push_back(design.name);
  suggest(app.add_option("--design", command.designs, "Designs, separated by commas; see below. Default all"), designs)
      ->delimiter(',')
      ->type_name("NAME,...");
  std::map<std::string, IntervalKind> kinds;
  for (const IntervalDefinition& interval : all_intervals()) kinds[interval.name] = interval.kind;
  choose_among(app.add_option("--interval", command.options.intervals,
                              "Intervals, separated by commas; see below. Default auto,normal,student,cressie-read"),
               kinds)
      ->delimiter(',')
      ->type_name("KIND,...");
  app.add_option("--rows", command.options.rows, "Rows of a log, separated by commas; default 50,200,1000,10000")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31))
      ->type_name("N,...");
  app.add_option("--logs", command.options.logs, "Logs of each design and size; default 1000")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31))
      ->type_name("N");
  app.add_option("--level", command.options.level, "Level of the intervals; default 0.95")->type_name("P");
  app.add_option("--seed", command.options.seed, "Seed of all logs; default 0")->type_name("S");
  app.add_option("--out", command.out, "An archive to write")->type_name("RESULTS.h5");
  app.add_flag("--overwrite", command.overwrite, "Replace an archive that is there already");
}

}  // namespace

void add_study_command(CLI::App& program) {
  auto command = std::make_shared<StudyCommand>();
  CLI::App& app = *program.add_subcommand("study", "Measure on logs whose truth is known what estimates are worth");
  app.footer(study_help());
  std::map<std::string, std::string> studies;
  for (const auto& [name, description] : kStudies) studies[name] = name;
  choose_among(app.add_option("study", command->study, "The study: coverage. Without one, a list of them"), studies)
      ->type_name("STUDY");
  add_coverage_options(app, *command);
  add_common_options(app, command->common, MainThread::waits);
  app.callback([command] { command->study.empty() ? list_studies(command->common.json) : run_coverage(*command); });
}

}  // namespace scrm
