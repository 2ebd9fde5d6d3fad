#include "report/text/sweep_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/text/sweep_table.hpp"

namespace scrm {

nlohmann::json sweep_json(const SweepReport& report, const SweepInvocation& invocation) {
  nlohmann::json table = nlohmann::json::array();
  for (const SweepCell& cell : sweep_cells(report.runs)) table.push_back(to_json(cell));
  nlohmann::json left_out = nlohmann::json::array();
  for (const InapplicableMethod& method : report.inapplicable) {
    left_out.push_back({{"environment", method.environment}, {"method", method.method}, {"reason", method.reason}});
  }
  nlohmann::json out = {
      {"archive", invocation.archive},
      {"runs", report.runs.size()},
      {"failed", std::count_if(report.runs.begin(), report.runs.end(), [](const RunRecord& run) { return !run.ok; })},
      {"resumed", report.resumed},
      {"seconds", invocation.seconds},
      {"cpu_seconds", invocation.cpu_seconds},
      {"threads", invocation.threads},
      {"table", table},
      {"not_applicable", left_out}};
  if (!invocation.part.empty()) out["part"] = invocation.part;
  return out;
}

}  // namespace scrm
