#include "report/text/import_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "report/terminal.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

nlohmann::json skipped_by_reason(const ImportResult& result) {
  nlohmann::json reasons = nlohmann::json::object();
  for (std::size_t i = 0; i < result.bad_records.size(); ++i)
    if (result.bad_records[i] > 0) reasons[key(static_cast<BadRecordReason>(i))] = result.bad_records[i];
  for (std::size_t i = 0; i < result.bad_rows.size(); ++i)
    if (result.bad_rows[i] > 0) reasons[key(static_cast<BadRowReason>(i))] = result.bad_rows[i];
  return reasons;
}

}  // namespace

std::string import_json(const ImportResult& result, const std::string& out, const std::string& encoding,
                        double seconds) {
  const Schema& schema = result.schema;
  nlohmann::json json = {{"rows", result.rows},
                         {"skipped_rows", result.skipped_rows()},
                         {"skipped", skipped_by_reason(result)},
                         {"shards", result.shards},
                         {"features", schema.features},
                         {"context_columns", schema.context_columns},
                         {"filled_holes", result.filled_holes},
                         {"other_levels", result.other_levels},
                         {"outcome", to_string(schema.outcome.value_or(Outcome::loss))},
                         {"action_kind", to_string(schema.action_kind)},
                         {"num_actions", schema.num_actions},
                         {"action_names", schema.action_names},
                         {"out", out},
                         {"seconds", seconds}};
  if (schema.cluster) json["clusters"] = true;
  if (!encoding.empty()) json["encoding"] = encoding;
  return json_text(json) + "\n";
}

std::vector<std::string> substitution_lines(std::int64_t filled_holes, std::int64_t other_levels) {
  std::vector<std::string> lines;
  if (filled_holes > 0) lines.push_back(counted(filled_holes, "missing value") + " filled as the encoding says");
  if (other_levels > 0)
    lines.push_back(counted(other_levels, "value") + " that the encoding does not have became other");
  return lines;
}

std::string import_text(const ImportResult& result, const std::string& out, const std::string& encoding,
                        double seconds) {
  const Schema& schema = result.schema;
  const std::string actions =
      schema.action_kind == ActionKind::categorical  ? fmt::format(" ({})", counted(schema.num_actions, "action"))
      : schema.action_kind == ActionKind::multilabel ? fmt::format(" ({})", counted(schema.num_actions, "label"))
                                                     : std::string();
  std::string text = fmt::format("{}, {}, {} actions{} -> {} ({}) in {}\n", counted(result.rows, "row"),
                                 counted(schema.features, "feature"), to_string(schema.action_kind), actions,
                                 styled(out, Style::strong), counted(result.shards, "shard"), human_seconds(seconds));
  for (const std::string& line : substitution_lines(result.filled_holes, result.other_levels))
    text += "  " + line + "\n";
  if (result.encoding_written)
    text += fmt::format("  the encoding is in {}: give it to import and act again with --encoding {}\n", encoding,
                        shell_word(encoding));
  else if (!encoding.empty())
    text += fmt::format("  encoded as {} says\n", encoding);
  return text;
}

std::string skipped_text(const ImportResult& result) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < result.bad_records.size(); ++i)
    if (result.bad_records[i] > 0)
      reasons.push_back(
          fmt::format("{}: {}", to_string(static_cast<BadRecordReason>(i)), with_commas(result.bad_records[i])));
  for (std::size_t i = 0; i < result.bad_rows.size(); ++i)
    if (result.bad_rows[i] > 0)
      reasons.push_back(
          fmt::format("{}: {}", to_string(static_cast<BadRowReason>(i)), with_commas(result.bad_rows[i])));
  if (reasons.empty()) return "";
  return fmt::format("{} {} left out ({})", counted(result.skipped_rows(), "bad row"),
                     result.skipped_rows() == 1 ? "was" : "were", fmt::join(reasons, "; "));
}

}  // namespace scrm
