#include "report/text/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "report/terminal.hpp"
#include "report/text/json_number.hpp"
#include "scrm/experiments/method.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {
namespace {

std::optional<double> l2_of(const RunRecord& run) {
  const auto found = run.numbers.find("l2");
  return found != run.numbers.end() ? std::optional(found->second) : std::nullopt;
}

/// Runs of ppo and trpo, whatever the sweep calls them, keep the entropy of their policies; of those that failed the
/// name has to do.
std::string hyperparameter_name(const RunRecord& run) {
  for (const MethodEntry& method : methods()) {
    if (method.name == run.method) return method.hyperparameter;
  }
  return run.curves.contains("entropy") ? "entropy weight" : "lambda";
}

std::string hyperparameter_text(const SweepCell& cell) {
  if (cell.lambda_rule.empty()) return "";
  return cell.lambda_rule == "given" ? fmt::format("{:g}", cell.hyperparameter) : cell.lambda_rule;
}

std::string loss_text(const SweepCell& cell) {
  if (cell.inapplicable) return styled("not applicable", Style::dim);
  if (cell.runs == cell.failed) return styled("failed", Style::bad);
  if (std::isnan(cell.sd)) return fmt::format("{:.4f}", cell.mean);
  return fmt::format("{:.4f} ± {:.4f}", cell.mean, cell.sd);
}

}  // namespace

bool has_automatic_l2(const SweepCell& cell) {
  return std::isnan(cell.l2.value_or(0));
}

bool has_lambda(const SweepCell& cell) {
  return cell.hyperparameter_name == "lambda";
}

std::string l2_text(const SweepCell& cell) {
  if (has_automatic_l2(cell)) return "auto";
  return cell.l2 ? fmt::format("{:g}", *cell.l2) : "";
}

bool belongs(const RunRecord& run, const SweepCell& cell) {
  const bool same_lambda =
      cell.hyperparameter == run.hyperparameter || (std::isnan(cell.hyperparameter) && std::isnan(run.hyperparameter));
  return cell.environment == run.environment && cell.method == run.method && cell.lambda_rule == run.lambda_rule &&
         same_lambda && (cell.l2 == l2_of(run) || (has_automatic_l2(cell) && std::isnan(l2_of(run).value_or(0))));
}

std::vector<SweepCell> sweep_cells(const std::vector<RunRecord>& runs) {
  std::vector<SweepCell> cells;
  std::vector<Moments> losses;
  for (const RunRecord& run : runs) {
    std::size_t at = 0;
    while (at < cells.size() && !belongs(run, cells[at])) ++at;
    if (at == cells.size()) {
      cells.push_back({.environment = run.environment,
                       .method = run.method,
                       .lambda_rule = run.lambda_rule,
                       .hyperparameter = run.hyperparameter,
                       .l2 = l2_of(run)});
      losses.emplace_back();
    }
    if (has_lambda(cells[at])) cells[at].hyperparameter_name = hyperparameter_name(run);
    ++cells[at].runs;
    if (run.ok) {
      losses[at].merge(Moments::of(run.final_loss));
    } else {
      ++cells[at].failed;
    }
  }
  // A ridge that runs chose themselves is not one of those to choose from in hindsight.
  std::map<std::tuple<std::string, std::string, bool>, SweepCell*> best;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double n = losses[i].count;
    cells[i].mean = n > 0 ? losses[i].mean : std::numeric_limits<double>::quiet_NaN();
    cells[i].sd = n > 1 ? std::sqrt(losses[i].square_sum / (n - 1)) : std::numeric_limits<double>::quiet_NaN();
    if (cells[i].lambda_rule != "given") continue;
    SweepCell*& leader = best[{cells[i].environment, cells[i].method, has_automatic_l2(cells[i])}];
    if (leader == nullptr || std::isnan(leader->mean) || cells[i].mean < leader->mean) leader = &cells[i];
  }
  for (auto& [key, cell] : best) cell->best = true;
  return cells;
}

void add_inapplicable(const std::vector<InapplicableMethod>& left_out, std::vector<SweepCell>& cells) {
  for (const InapplicableMethod& method : left_out) {
    SweepCell cell;
    cell.environment = method.environment;
    cell.method = method.method;
    cell.inapplicable = true;
    const auto same = [&](const SweepCell& other) { return other.environment == method.environment; };
    const auto last = std::find_if(cells.rbegin(), cells.rend(), same);
    cells.insert(last == cells.rend() ? cells.end() : last.base(), std::move(cell));
  }
}

std::string sweep_table(const std::vector<SweepCell>& cells) {
  using enum Table::Align;
  bool several_l2 = false;
  std::vector<std::string> names = {"lambda"};  // of hyper-parameters: a column each
  for (const SweepCell& cell : cells) {
    several_l2 = several_l2 || cell.l2.value_or(0) != 0;
    if (std::find(names.begin(), names.end(), cell.hyperparameter_name) == names.end())
      names.push_back(cell.hyperparameter_name);
  }
  const bool any_lambda = std::any_of(
      cells.begin(), cells.end(), [](const SweepCell& cell) { return has_lambda(cell) && !cell.lambda_rule.empty(); });
  if (!any_lambda && names.size() > 1) names.erase(names.begin());
  std::vector<std::string> header = {"environment", "method"};
  header.insert(header.end(), names.begin(), names.end());
  std::vector<Table::Align> align(header.size(), left);
  if (several_l2) {
    header.emplace_back("l2");
    align.push_back(left);
  }
  header.insert(header.end(), {"loss", "seeds"});
  align.insert(align.end(), {left, right});
  Table table(header, align);
  std::string environment;
  for (const SweepCell& cell : cells) {
    if (cell.lambda_rule == "given" && !cell.best) continue;
    std::vector<std::string> row = {cell.environment == environment ? "" : printable(cell.environment),
                                    printable(cell.method)};
    for (const std::string& name : names)
      row.push_back(name == cell.hyperparameter_name ? hyperparameter_text(cell) : "");
    if (several_l2) row.push_back(l2_text(cell));
    row.push_back(loss_text(cell));
    row.push_back(cell.inapplicable ? ""
                  : cell.failed > 0 ? fmt::format("{} of {}", cell.runs - cell.failed, cell.runs)
                                    : fmt::format("{}", cell.runs));
    table.add(std::move(row));
    environment = cell.environment;
  }
  return table.text();
}

nlohmann::json to_json(const SweepCell& cell) {
  return {{"environment", cell.environment},
          {"method", cell.method},
          {"lambda_rule", cell.lambda_rule},
          {"hyperparameter", json_number(cell.hyperparameter)},
          {"l2", has_automatic_l2(cell) ? nlohmann::json("auto")
                 : cell.l2              ? nlohmann::json(*cell.l2)
                                        : nlohmann::json()},
          {"runs", cell.runs},
          {"failed", cell.failed},
          {"mean", json_number(cell.mean)},
          {"sd", json_number(cell.sd)},
          {"best", cell.best}};
}

}  // namespace scrm
