#include "archive/archive_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "file/text.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

constexpr std::array<std::string_view, 15> kColumns = {
    "environment", "method", "hyperparameter", "lambda_rule", "seed",   "identity", "status", "message",
    "final_loss",  "loss",   "seconds",        "rows",        "regret", "rollouts", "theta"};

bool is_valid_column_name(const std::string& name) {
  return !name.empty() && name != "." && name.find('/') == std::string::npos && sanitize_utf8(name) == name;
}

}  // namespace

void validate_run(const RunRecord& run, const std::string& file) {
  const auto reject = [&](const std::string& column, const std::string& what) {
    throw Error(ErrorKind::run, fmt::format("the run {}/{}, seed {}, {}", run.environment, run.method, run.seed, what),
                {.file = file, .dataset = "runs/" + column});
  };
  const auto require_length = [&](const std::string& column, std::size_t length) {
    if (length != run.loss.size())
      reject(column,
             fmt::format("has {} entries there and {} in loss; give one for each rollout", length, run.loss.size()));
  };
  const auto require_name = [&](const std::string& column) {
    if (!is_valid_column_name(column)) reject(column, "has a column that cannot be called so; use letters and _");
    if (std::find(kColumns.begin(), kColumns.end(), column) != kColumns.end())
      reject(column, "has a column of its own with the name of one that all runs have; rename it");
  };
  require_length("rows", run.rows.size());
  require_length("regret", run.regret.size());
  for (const auto& [name, value] : run.numbers) require_name(name);
  for (const auto& [name, curve] : run.curves) {
    require_name(name);
    require_length(name, curve.size());
    if (run.numbers.contains(name)) reject(name, "has both a number and a curve of this name; rename one");
  }
}

}  // namespace scrm
