#include "report/text/estimator_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "report/terminal.hpp"
#include "report/text/json_number.hpp"

namespace scrm {
namespace {

double root(double square) {
  return std::sqrt(square);
}

/// Of the root, from that of the square: ∂√v = ∂v / (2√v).
double root_error(double square, double error) {
  return square > 0 ? error / (2 * std::sqrt(square)) : 0;
}

std::string with_error(double value, double error) {
  if (std::isnan(value)) return "-";
  return std::isnan(error) ? fmt::format("{:.4f}", value) : fmt::format("{:.4f} ± {:.4f}", value, error);
}

std::string design_table(std::span<const EstimatorRecord> records) {
  using enum Table::Align;
  Table table({"estimator", "bias", "std. deviation", "root mean squared error", "without a value"},
              {left, right, right, right, right});
  double least = EstimatorRecord::kNone;
  for (const EstimatorRecord& record : records) least = std::fmin(least, record.mse);
  for (const EstimatorRecord& record : records) {
    const std::string error = with_error(root(record.mse), root_error(record.mse, record.mse_error));
    table.add({record.estimator, with_error(record.bias, record.bias_error),
               with_error(root(record.variance), root_error(record.variance, record.variance_error)),
               record.mse == least ? styled(error, Style::strong) : error,
               record.undefined > 0 ? with_commas(record.undefined) : ""});
  }
  const EstimatorRecord& first = records.front();
  return fmt::format("{}, {}: the truth is {:.4f}\n{}\n", styled(first.design, Style::strong),
                     counted(first.rows, "row"), first.truth, table.text(2));
}

}  // namespace

std::string estimator_text(const EstimatorArchive& archive) {
  std::string text;
  const auto begin = archive.records.begin(), end = archive.records.end();
  for (auto first = begin; first != end;) {
    const auto last = std::find_if(first, end, [&](const EstimatorRecord& record) {
      return record.design != first->design || record.rows != first->rows;
    });
    text += design_table({first, last});
    first = last;
  }
  return text + "± are Monte-Carlo standard errors.\n";
}

nlohmann::json to_json(const EstimatorRecord& record) {
  return {{"design", record.design},
          {"rows", record.rows},
          {"estimator", record.estimator},
          {"logs", record.logs},
          {"undefined", record.undefined},
          {"truth", json_number(record.truth)},
          {"bias", json_number(record.bias)},
          {"bias_error", json_number(record.bias_error)},
          {"variance", json_number(record.variance)},
          {"variance_error", json_number(record.variance_error)},
          {"mse", json_number(record.mse)},
          {"mse_error", json_number(record.mse_error)}};
}

}  // namespace scrm
