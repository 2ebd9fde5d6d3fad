#include "text/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/csv_reader.hpp"

namespace scrm {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

// A quotation in a message stays on its line.
constexpr std::size_t kQuoted = 40;

std::string quoted(std::string_view text) {
  return fmt::format("'{}{}'", text.substr(0, kQuoted), text.size() > kQuoted ? "..." : "");
}

}  // namespace

CsvRows::CsvRows(const CsvColumns& columns, const std::vector<std::string>& header)
    : header_(header), buffer_(columns.schema), loss_sign_(columns.loss_sign) {
  const Schema& schema = columns.schema;
  const bool discrete = schema.action_kind != ActionKind::continuous;
  const double one = discrete ? 1 : kLargest;
  const double widest = schema.context_type == FloatType::f32 ? double{std::numeric_limits<float>::max()} : kLargest;
  const auto finite = [](double limit, BadRowReason reason) {
    return FieldRule{0, -limit, limit, reason, reason, reason, false};
  };
  add_rules(columns.context, finite(widest, BadRowReason::context_not_finite));
  if (discrete) {
    const double last = schema.action_kind == ActionKind::multilabel ? 1 : schema.num_actions - 1;
    constexpr BadRowReason kReason = BadRowReason::action_out_of_range;
    add_rules(columns.action, {0, 0, last, kReason, kReason, kReason, true});
  } else {
    add_rules(columns.action, finite(kLargest, BadRowReason::action_not_finite));
  }
  add_rules({columns.loss}, finite(kLargest, BadRowReason::loss_not_finite));
  const FieldRule probability{0,
                              kSmallest,
                              one,
                              BadRowReason::propensity_not_positive,
                              BadRowReason::probability_above_one,
                              BadRowReason::propensity_not_finite,
                              false};
  FieldRule propensity = probability;
  if (schema.propensity == PropensityForm::logarithm) {
    propensity.low = -kLargest;
    propensity.high = discrete ? 0 : kLargest;
  }
  add_rules(columns.propensity, propensity);
  add_rules(columns.label_propensity, probability);
  constexpr BadRowReason kTarget = BadRowReason::target_not_valid;
  add_rules(columns.targets, {0, 0, one, kTarget, kTarget, kTarget, false});
  values_.resize(rules_.size());
}

void CsvRows::add_rules(const std::vector<std::size_t>& fields, const FieldRule& rule) {
  for (const std::size_t field : fields) {
    rules_.push_back(rule);
    rules_.back().field = field;
  }
}

void CsvRows::record_first_error(std::int64_t line, std::string_view column, const std::string& what) {
  if (!first_error_.empty()) return;
  first_error_ = fmt::format("line {}, column '{}': {}", line, column, what);
}

bool CsvRows::parse(std::span<const std::string_view> fields, std::int64_t line) {
  const auto count = [&](BadRecordReason reason) { ++bad_records_[static_cast<std::size_t>(reason)]; };
  if (fields.size() != header_.size()) {
    count(BadRecordReason::wrong_number_of_fields);
    if (first_error_.empty())
      first_error_ = fmt::format("line {}: {} fields where the header has {}", line, fields.size(), header_.size());
    return false;
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const std::string_view text = fields[rules_[i].field];
    if (parse_number(text, values_[i])) continue;
    const bool missing = text.find_first_not_of(" \t") == std::string_view::npos;
    count(missing ? BadRecordReason::value_missing : BadRecordReason::not_a_number);
    record_first_error(line, header_[rules_[i].field],
                       missing ? "the value is missing" : quoted(text) + " is not a number");
    return false;
  }
  return true;
}

inline std::optional<BadRowReason> CsvRows::violation(const FieldRule& rule, double value) const noexcept {
  const bool inside = value >= rule.low && value <= rule.high;
  if (inside && (!rule.whole || value == std::floor(value))) return std::nullopt;
  if (!std::isfinite(value)) return rule.not_finite;
  return value < rule.low ? rule.below : rule.above;
}

bool CsvRows::audit(std::span<const std::string_view> fields, std::int64_t line) {
  // A row with several faults counts once, under the reason that comes first in BadRowReason.
  std::optional<BadRowReason> gravest;
  std::size_t where = 0;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const std::optional<BadRowReason> reason = violation(rules_[i], values_[i]);
    if (!reason || (gravest && *gravest <= *reason)) continue;
    gravest = reason;
    where = rules_[i].field;
  }
  if (!gravest) return true;
  ++bad_rows_[static_cast<std::size_t>(*gravest)];
  record_first_error(line, header_[where], fmt::format("{}: {}", to_string(*gravest), quoted(fields[where])));
  return false;
}

bool CsvRows::add(std::span<const std::string_view> fields, std::int64_t line) {
  if (!parse(fields, line) || !audit(fields, line)) return false;
  store();
  ++rows_;
  return true;
}

void CsvRows::store() noexcept {
  const Schema& schema = buffer_.schema();
  const double* value = values_.data();
  const int row = rows_;
  if (schema.context_type == FloatType::f32) {
    float* out = buffer_.context_f32() + row;
    for (std::int64_t j = 0; j < schema.features; ++j) out[j * kBlockRows] = static_cast<float>(*value++);
  } else {
    double* out = buffer_.context_f64() + row;
    for (std::int64_t j = 0; j < schema.features; ++j) out[j * kBlockRows] = *value++;
  }
  switch (schema.action_kind) {
    case ActionKind::continuous:
      buffer_.action()[row] = *value++;
      break;
    case ActionKind::categorical:
      buffer_.category()[row] = static_cast<std::int32_t>(*value++);
      break;
    case ActionKind::multilabel:
      for (int k = 0; k < schema.num_actions; ++k)
        buffer_.bits()[k * kBlockRows + row] = static_cast<std::uint8_t>(*value++);
      break;
  }
  buffer_.loss()[row] = loss_sign_ * *value++;
  if (schema.propensity != PropensityForm::label_product) buffer_.propensity()[row] = *value++;
  if (schema.label_propensity)
    for (int k = 0; k < schema.num_actions; ++k) buffer_.label_propensity()[k * kBlockRows + row] = *value++;
  for (std::size_t t = 0; t < schema.targets.size(); ++t) buffer_.target(static_cast<int>(t))[row] = *value++;
}

Block CsvRows::take() noexcept {
  const int rows = rows_;
  rows_ = 0;
  return buffer_.view(0, rows);
}

}  // namespace scrm
