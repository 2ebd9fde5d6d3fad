#include "report/sweep/sweep_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/sweep/sweep_parts.hpp"
#include "report/terminal.hpp"

namespace scrm {
namespace {

/// How much there is of everything.
struct ArchiveCounts {
  std::int64_t runs = 0, failed = 0;
  std::set<std::string> environments, methods;
  std::set<std::int64_t> seeds;
  double seconds = 0;
};

ArchiveCounts count(const std::vector<RunRecord>& runs) {
  ArchiveCounts counts;
  for (const RunRecord& run : runs) {
    ++counts.runs;
    counts.failed += run.ok ? 0 : 1;
    counts.environments.insert(run.environment);
    counts.methods.insert(run.method);
    counts.seeds.insert(run.seed);
    counts.seconds += run.seconds;
  }
  return counts;
}

std::string attribute(const ResultArchive& archive, const char* name) {
  const auto found = archive.attributes.find(name);
  return found != archive.attributes.end() ? found->second : "";
}

template <class Set>
std::string counted_set(const Set& set, const char* one) {
  return counted(static_cast<std::int64_t>(set.size()), one);
}

std::string counts_text(const ArchiveCounts& counts) {
  return fmt::format("{}{}: {}, {}, {}", counted(counts.runs, "run"),
                     counts.failed > 0 ? fmt::format(" ({} failed)", with_commas(counts.failed)) : "",
                     counted_set(counts.environments, "environment"), counted_set(counts.methods, "method"),
                     counted_set(counts.seeds, "seed"));
}

void add_environment(const EnvironmentSummary& environment, std::size_t number, PageSection& curves) {
  const std::string file = fmt::format("{}-{}", slug(environment.name), number + 1);
  const XyChart loss = loss_chart(environment);
  if (!loss.series.empty() || !loss.levels.empty()) {
    const bool bands =
        std::any_of(loss.series.begin(), loss.series.end(), [](const Series& s) { return !s.low.empty(); });
    curves.blocks.push_back(
        PageFigure{"loss-" + file, draw(loss),
                   fmt::format("Mean over seeds{}.{}", bands ? ", with bands of one standard deviation" : "",
                               loss.levels.empty() ? "" : " Dashed lines are methods that learn nothing.")});
  }
  const XyChart ess = ess_chart(environment);
  if (!ess.series.empty())
    curves.blocks.push_back(PageFigure{"ess-" + file, draw(ess),
                                       "What the rows that each rollout learned from are worth for judging the policy "
                                       "that was learned: (Σw)²/Σw², mean over seeds."});
  const XyChart weight = weight_chart(environment);
  if (!weight.series.empty())
    curves.blocks.push_back(PageFigure{"weight-" + file, draw(weight),
                                       "Mean weight of the learned policy on the rows it was learned from, mean over "
                                       "seeds. Far below 1, it has moved away from what was logged and is judged "
                                       "by few rows; far above, it chased rows with large weights."});
}

}  // namespace

Page sweep_page(const ResultArchive& archive, const std::string& name) {
  const ArchiveCounts counts = count(archive.runs);
  const SweepSummary summary = summarize(archive.runs);
  Page page;
  page.title = "Sweep report: " + name;
  page.lead = counts_text(counts) + ".";
  if (const std::string version = attribute(archive, "version"); !version.empty())
    page.lead += fmt::format(" Run by scrm {}.", version);
  if (const std::string time = attribute(archive, "time"); !time.empty())
    page.lead += fmt::format(" Finished at {}.", time);

  PageSection losses{"Losses", {}};
  if (counts.failed > 0) losses.blocks.push_back(PageWarnings{failure_texts(archive.runs)});
  losses.blocks.push_back(loss_table(summary));
  PageSection curves{"Curves", {}};
  for (std::size_t e = 0; e < summary.environments.size(); ++e) add_environment(summary.environments[e], e, curves);
  page.sections = {std::move(losses), std::move(curves)};
  const ReportTable tried = hyperparameter_table(summary);
  if (!tried.rows.empty()) page.sections.push_back({"Hyper-parameters", {tried}});
  page.sections.push_back({"Time and rows", {time_table(summary)}});
  PageSection origin{"Where it comes from", {}};
  if (const std::string sweep = attribute(archive, "sweep"); !sweep.empty()) origin.blocks.push_back(PageCode{sweep});
  for (const char* key : {"host", "instruction_set", "threads"}) {
    if (const std::string text = attribute(archive, key); !text.empty())
      origin.blocks.push_back(PageText{fmt::format("{}: {}", key, text)});
  }
  if (!origin.blocks.empty()) page.sections.push_back(std::move(origin));
  page.data = {{"archive", name}, {"attributes", archive.attributes}};
  page.data.update(summary_json(summary));
  return page;
}

std::string archive_text(const ResultArchive& archive, const std::string& name) {
  const ArchiveCounts counts = count(archive.runs);
  std::string text = fmt::format("{}: an archive of {}\n", styled(name, Style::strong), counts_text(counts));
  for (const char* key : {"version", "time", "host", "instruction_set", "threads"}) {
    if (const std::string value = attribute(archive, key); !value.empty())
      text += fmt::format("  {:<16}{}\n", key, printable(value));
  }
  text += fmt::format("  {:<16}{}\n", "time of runs", human_seconds(counts.seconds));
  std::vector<SweepCell> cells = sweep_cells(archive.runs);
  text += "\n" + sweep_table(cells);
  for (const std::string& failure : failure_texts(archive.runs)) text += fmt::format("\n{}\n", printable(failure));
  return text;
}

nlohmann::ordered_json archive_json(const ResultArchive& archive) {
  const ArchiveCounts counts = count(archive.runs);
  nlohmann::ordered_json table = nlohmann::ordered_json::array();
  for (const SweepCell& cell : sweep_cells(archive.runs)) table.push_back(nlohmann::ordered_json(to_json(cell)));
  return {{"kind", "archive"},         {"runs", counts.runs},
          {"failed", counts.failed},   {"environments", counts.environments},
          {"methods", counts.methods}, {"seeds", counts.seeds},
          {"seconds", counts.seconds}, {"attributes", archive.attributes},
          {"table", std::move(table)}};
}

}  // namespace scrm
