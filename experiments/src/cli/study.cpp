#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options/choice.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "report/text/coverage_text.hpp"
#include "report/text/estimator_text.hpp"
#include "report/version.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/archive/coverage_archive.hpp"
#include "scrm/io/archive/estimator_archive.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "scrm/io/labelled/labelled_import.hpp"
#include "study/coverage.hpp"
#include "study/designs/labelled_design.hpp"
#include "study/estimator_errors.hpp"
#include "study/study_file.hpp"

namespace scrm {
namespace {

struct StudyCommand {
  std::string study;
  std::string file;
  std::vector<std::string> designs;
  std::optional<std::int64_t> logs;
  CoverageOptions options;
  std::string out;
  bool overwrite = false;
  CommonOptions common;
};

constexpr const char *kCoverage = "coverage", *kEstimators = "estimators";

// All further designs, where designs are named.
constexpr const char* kFurther = "further";
constexpr const char* kLater = "later";
constexpr const char* kUnseen = "unseen";

struct StudyDefinition {
  const char* name;
  const char* description;
};

constexpr StudyDefinition kStudies[] = {
    {kCoverage, "how often intervals hold a truth that is known"},
    {kEstimators, "how far estimators are from it: bias, variance and mean squared error"},
};

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

// The archive has signed numbers.
void require_archivable(std::uint64_t seed) {
  constexpr auto kLargestSeed = std::numeric_limits<std::int64_t>::max();
  if (seed > static_cast<std::uint64_t>(kLargestSeed))
    fail_usage(fmt::format("--seed is {}, but at most {}", seed, kLargestSeed));
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

/// The designs that were named, or all.
std::vector<const StudyDesign*> chosen_designs(const StudyCommand& command) {
  std::vector<const StudyDesign*> designs;
  if (command.designs.empty()) {
    for (const StudyDesign& design : study_designs()) designs.push_back(&design);
  }
  for (const std::string& name : each_once(command.designs)) {
    if (name == kFurther) {
      for (const StudyDesign& design : further_study_designs()) designs.push_back(&design);
    } else if (name == kLater) {
      for (const StudyDesign& design : later_study_designs()) designs.push_back(&design);
    } else if (name == kUnseen) {
      for (const StudyDesign& design : unseen_study_designs()) designs.push_back(&design);
    } else {
      designs.push_back(&find_study_design(name));
    }
  }
  return each_once(designs);
}

CoverageOptions study_options(const StudyCommand& command) {
  CoverageOptions options = command.options;
  if (!command.file.empty())
    fail_usage(fmt::format("{}: a file of labelled data is for `scrm study estimators`", command.file));
  require_archivable(options.seed);
  options.designs = chosen_designs(command);
  options.logs = command.logs.value_or(options.logs);
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

nlohmann::json study_json(const StudyCommand& command, const StudyOptions& options, double seconds) {
  nlohmann::json designs = nlohmann::json::array();
  for (const StudyDesign* design : options.designs) designs.push_back(to_json(*design));
  return {{"study", command.study}, {"archive", command.out.empty() ? nlohmann::json() : nlohmann::json(command.out)},
          {"logs", options.logs},   {"seed", options.seed},
          {"seconds", seconds},     {"threads", options.threads},
          {"designs", designs}};
}

template <class Record>
nlohmann::json table_json(const std::vector<Record>& records) {
  nlohmann::json table = nlohmann::json::array();
  for (const Record& record : records) table.push_back(to_json(record));
  return table;
}

void print_end(const StudyCommand& command, const StudyOptions& options, double seconds) {
  fmt::print("{} of each design and size in {}.\n", counted(options.logs, "log"), human_seconds(seconds));
  if (!command.out.empty()) fmt::print("archive: {}\n", styled(command.out, Style::strong));
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
  if (command.common.json) {
    nlohmann::json out = study_json(command, options, watch.seconds());
    out["level"] = archive.level;
    out["table"] = table_json(archive.records);
    fmt::print("{}\n", json_text(out));
    return;
  }
  fmt::print("{}", coverage_text(archive));
  print_end(command, options, watch.seconds());
}

/// Designs of the labelled data that the file names, which are held in the memory.
std::vector<StudyDesign> labelled_designs(const StudyFile& file, MemoryLedger& ledger) {
  std::vector<StudyDesign> designs;
  for (const std::string& path : file.data) {
    require_file(path);
    const LabelledData data = read_any_labelled({path}, {.memory = ledger.left()});
    const std::string name = std::filesystem::path(path).stem().string();
    ledger.charge(labelled_design_bytes(data), fmt::format("the rows of {}", path), "fewer environments at a time");
    designs.push_back(labelled_design(name, data));
  }
  return designs;
}

void run_estimators(StudyCommand& command) {
  const Stopwatch watch;
  StudyOptions options;
  options.seed = command.options.seed;
  options.rows = each_once(command.options.rows);
  MemoryLedger ledger = MemoryLedger::of_process(command.common.memory);
  std::vector<StudyDesign> labelled;
  const auto prepare_output = [&command](std::vector<std::string> inputs) {
    if (!command.file.empty()) inputs.push_back(command.file);
    if (!command.out.empty()) prepare_output_file(command.out, inputs, command.overwrite, command.common);
  };
  if (!command.file.empty()) {
    if (!command.designs.empty()) fail_usage("give a file of labelled data or --design, not both");
    const StudyFile file(command.file);
    prepare_output(file.data);
    labelled = labelled_designs(file, ledger);
    for (const StudyDesign& design : labelled) options.designs.push_back(&design);
    if (options.rows.empty()) options.rows = file.rows;
    options.logs = file.logs.value_or(options.logs);
    if (file.seed && command.options.seed == 0) options.seed = static_cast<std::uint64_t>(*file.seed);
  } else {
    prepare_output({});
    options.designs = chosen_designs(command);
  }
  require_archivable(options.seed);
  options.logs = command.logs.value_or(options.logs);
  options.threads = command.common.threads;
  options.memory = ledger.left();
  options.progress = progress_bar("estimators", command.common.quiet);
  const EstimatorArchive archive{static_cast<std::int64_t>(options.seed), version(), run_estimator_study(options)};
  if (!command.out.empty()) write_estimator_archive(command.out, archive);
  if (command.common.json) {
    nlohmann::json out = study_json(command, options, watch.seconds());
    out["table"] = table_json(archive.records);
    fmt::print("{}\n", json_text(out));
    return;
  }
  fmt::print("{}", estimator_text(archive));
  print_end(command, options, watch.seconds());
}

std::string study_help() {
  std::string text = "Studies:\n";
  for (const auto& [name, description] : kStudies) text += fmt::format("  {:<22}{}\n", name, description);
  text += "\nDesigns, all with a policy whose value is known:\n";
  for (const StudyDesign& design : study_designs())
    text += fmt::format("  {:<22}{}\n", design.name, design.description);
  text += fmt::format("  {:<22}{} more, on which the rule of the default interval was found, or by name:\n", kFurther,
                      further_study_designs().size());
  for (const StudyDesign& design : further_study_designs())
    text += fmt::format("  {:<22}{}\n", design.name, design.description);
  text += fmt::format("  {:<22}{} more, drawn up after that rule was found, or by name:\n", kLater,
                      later_study_designs().size());
  for (const StudyDesign& design : later_study_designs())
    text += fmt::format("  {:<22}{}\n", design.name, design.description);
  text += fmt::format("  {:<22}{} more, tried once when the rule was fixed, or by name:\n", kUnseen,
                      unseen_study_designs().size());
  for (const StudyDesign& design : unseen_study_designs())
    text += fmt::format("  {:<22}{}\n", design.name, design.description);
  text += "\nIntervals hold when:\n";
  for (const IntervalDefinition& interval : all_intervals())
    text += fmt::format("  {:<22}{}\n", interval.name, interval.holds);
  text += "\nKeys of FILE.toml, the data of `estimators`:\n" + study_file_help();
  return text +
         "\nExample:\n  scrm study coverage --design near,rare-0.01 --interval normal,student --logs 200 --out "
         "study.h5\n  scrm study estimators examples/uci.toml --out estimators.h5";
}

std::vector<std::string> design_names() {
  std::vector<std::string> names;
  const auto add = [&names](const std::vector<StudyDesign>& designs) {
    for (const StudyDesign& design : designs) names.push_back(design.name);
  };
  add(study_designs());
  names.emplace_back(kFurther);
  add(further_study_designs());
  names.emplace_back(kLater);
  add(later_study_designs());
  names.emplace_back(kUnseen);
  add(unseen_study_designs());
  return names;
}

void add_coverage_options(CLI::App& app, StudyCommand& command) {
  suggest(app.add_option(
              "--design", command.designs,
              "Designs, separated by commas; see below. Default all but the further, the later and the unseen ones"),
          design_names)
      ->delimiter(',')
      ->type_name("NAME,...");
  std::map<std::string, IntervalKind> kinds;
  for (const IntervalDefinition& interval : all_intervals()) kinds[interval.name] = interval.kind;
  choose_among(app.add_option("--interval", command.options.intervals,
                              "Intervals, separated by commas; see below. Default auto,normal,student,cressie-read"),
               kinds)
      ->delimiter(',')
      ->type_name("KIND,...");
  app.add_option("--rows", command.options.rows,
                 "Rows of a log, separated by commas; default 50,200,1000,10000, and 1000 of labelled data")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31))
      ->type_name("N,...");
  app.add_option("--logs", command.logs, "Logs of each design and size; default 1000, for estimators 200")
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
  app.footer("");          // else the one of the program stands behind it
  app.footer(study_help);  // made where help is asked for: designs take time to draw up
  std::map<std::string, std::string> studies;
  for (const auto& [name, description] : kStudies) studies[name] = name;
  choose_among(
      app.add_option("study", command->study, "The study: coverage or estimators. Without one, a list of them"),
      studies)
      ->type_name("STUDY");
  app.add_option("file", command->file, "estimators: labelled data to study instead of the designs; see below")
      ->type_name("FILE.toml");
  add_coverage_options(app, *command);
  add_common_options(app, command->common, MainThread::waits);
  app.callback([command] {
    if (command->study.empty()) return list_studies(command->common.json);
    command->study == kCoverage ? run_coverage(*command) : run_estimators(*command);
  });
}

}  // namespace scrm
