#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/archive_memory.hpp"
#include "cli/command.hpp"
#include "report/clock.hpp"
#include "report/inspection.hpp"
#include "report/sweep/sweep_page.hpp"
#include "report/terminal.hpp"
#include "report/text/labelled_text.hpp"
#include "scrm/engine/estimate/as_rewards.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/io/archive/result_archive.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/labelled/labelled_file.hpp"
#include "scrm/io/shard/known_rows.hpp"

namespace scrm {

namespace {

struct InspectCommand {
  CommonOptions common;
  std::vector<std::string> paths;
  bool skip_bad_rows = false;
  bool reward = false;
};

/// A labelled data set is checked as it is read; what is left is to say what it holds.
void inspect_labelled(const std::string& path, bool json, MemoryLedger ledger) {
  const LabelledData data = read_labelled(path, ledger.left());
  const LabelledSummary summary = summarize(data);
  if (json) {
    fmt::print("{}\n", json_text(labelled_json(data, summary)));
    return;
  }
  fmt::print("{}: a labelled data set of {} row{}\n\n  {}\n  {}\n{}", styled(path, Style::strong),
             with_commas(data.rows), data.rows == 1 ? "" : "s", context_text(data, summary), answers_text(data),
             labels_text(data, summary));
}

/// The runs of a sweep: what they were, and what came of them.
void inspect_archive(const std::string& path, bool json, MemoryLedger ledger) {
  charge_archive(path, ledger);
  const ResultArchive archive = read_archive(path);
  fmt::print("{}", json ? json_text(archive_json(archive)) + "\n" : archive_text(archive, path));
}

void run_inspect(const InspectCommand& command) {
  for (const std::string& path : command.paths) {
    const bool archive = is_archive(path);
    if (!archive && !is_labelled(path)) continue;
    if (command.paths.size() > 1)
      throw Error(ErrorKind::usage,
                  fmt::format("is {}, not a shard; inspect it alone",
                              archive ? "an archive of a sweep" : "a labelled data set"),
                  {.file = path});
    const MemoryLedger ledger = MemoryLedger::of_process(command.common.memory);
    return archive ? inspect_archive(path, command.common.json, ledger)
                   : inspect_labelled(path, command.common.json, ledger);
  }
  const Stopwatch watch;
  ReadOptions read;
  read.reward = command.reward;
  read.all_targets = true;
  read.cluster = true;
  ShardSource source(Dataset(command.paths, read));
  Inspection inspection;
  inspection.name = fmt::format("{}", fmt::join(command.paths, " "));
  inspection.schema = source.schema();
  inspection.shards = source.dataset().shards();
  inspection.rows = source.rows();
  std::tie(inspection.summary, inspection.audit) = summarize(source, command.common.pass("inspecting"));
  RowFingerprints rows(source.dataset());
  inspection.copies = copied_rows_warnings(rows);
  if (inspection.schema.outcome == Outcome::reward) inspection.summary.loss = as_rewards(inspection.summary.loss);
  inspection.seconds = watch.seconds();

  // What was found comes first, whole; then the bad rows decide how the command ends.
  fmt::print("{}", command.common.json ? json_text(inspection_json(inspection)) + "\n" : inspection_text(inspection));
  if (!command.skip_bad_rows) require_no_bad_rows(inspection.audit);
}

}  // namespace

void add_inspect_command(CLI::App& program, Ranks& ranks) {
  auto command = std::make_shared<InspectCommand>();
  command->common.ranks = &ranks;
  CLI::App& app = *program.add_subcommand("inspect", "Show what logs, labelled data or an archive of a sweep hold");
  app.footer("Example:\n  scrm inspect logs --skip-bad-rows");
  app.add_option("data", command->paths, "Shards (.h5 files) or folders of them, a labelled data set, or an archive")
      ->required()
      ->type_name("DATA");
  app.add_flag("--skip-bad-rows", command->skip_bad_rows, "Report bad rows without failing");
  add_reward_flag(app, command->reward);
  add_common_options(app, command->common);
  app.callback([command] { run_inspect(*command); });
}

}  // namespace scrm
