#include "text/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "file/text.hpp"
#include "scrm/io/error.hpp"
#include "scrm/io/numbers.hpp"
#include "scrm/io/shard_writer.hpp"

namespace scrm {

CsvRows::CsvRows(const CsvColumns& columns, const std::vector<std::string>& header)
    : header_(header), buffer_(columns.schema), loss_sign_(columns.loss_sign) {
  const Schema& schema = columns.schema;
  const ActionKind kind = schema.action_kind;
  AuditRule context = context_rule("context");
  if (schema.context_type == FloatType::f32) {
    constexpr double kWidest = std::numeric_limits<float>::max();
    context.range = {-kWidest, kWidest};
  }
  add_rules(columns.context, context);
  if (schema.stage == RowStage::logged) {
    add_rules(columns.action, action_rule(kind, schema.num_actions), kind != ActionKind::continuous);
    add_rules({columns.loss}, loss_rule());
    add_rules(columns.propensity, schema.propensity == PropensityForm::logarithm ? log_propensity_rule(kind)
                                                                                 : propensity_rule(kind, "propensity"));
    add_rules(columns.label_propensity, propensity_rule(kind, "label_propensity"));
    for (std::size_t t = 0; t < columns.targets.size(); ++t)
      add_rules({columns.targets[t]}, target_rule(kind, schema.targets[t]));
  }
  values_.resize(rules_.size());
}

void CsvRows::add_rules(const std::vector<std::size_t>& fields, const AuditRule& rule, bool whole) {
  for (const std::size_t field : fields) rules_.push_back({field, rule, whole});
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
    if (const std::optional<double> value = parse_double(text)) {
      values_[i] = *value;
      continue;
    }
    const bool missing = text.find_first_not_of(" \t") == std::string_view::npos;
    count(missing ? BadRecordReason::value_missing : BadRecordReason::not_a_number);
    record_first_error(line, header_[rules_[i].field],
                       missing ? "the value is missing" : fmt::format("'{}' is not a number", excerpt(text)));
    return false;
  }
  return true;
}

inline std::optional<BadRowReason> CsvRows::violation(const FieldRule& rule, double value) noexcept {
  const std::optional<BadRowReason> reason = rule.rule.violation(value);
  if (!reason && rule.whole && value != std::floor(value)) return BadRowReason::action_out_of_range;
  return reason;
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
  record_first_error(line, header_[where], fmt::format("{}: '{}'", to_string(*gravest), excerpt(fields[where])));
  return false;
}

bool CsvRows::add(std::span<const std::string_view> fields, std::int64_t line) {
  if (!parse(fields, line) || !audit(fields, line)) {
    ++bad_;
    return false;
  }
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
  if (schema.stage == RowStage::contexts) return;
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

void CsvRows::require_no_bad_rows(const std::string& file, bool can_skip) const {
  if (bad_ == 0) return;
  throw Error(ErrorKind::data, first_error_ + " " + bad_rows_in_all(bad_, can_skip), {.file = file});
}

Block CsvRows::take() noexcept {
  const int rows = rows_;
  rows_ = 0;
  return buffer_.view(0, rows);
}

void require_block_fits(const CsvReader& reader, const Schema& schema, const WriteOptions& write, std::size_t memory) {
  if (memory == 0) return;
  const auto block = static_cast<double>(block_buffer_bytes(schema));
  auto rows = static_cast<double>(chunk_rows(schema, write));
  // A chunk never has more rows than the file, and a row has two characters for each field at least.
  const double fields = 2 * static_cast<double>(reader.header().size());
  if (reader.bytes_total() > 0) rows = std::min(rows, static_cast<double>(reader.bytes_total()) / fields);
  const double needed = block + 2 * rows * block / kBlockRows;
  if (needed <= static_cast<double>(memory)) return;
  constexpr double kMega = 1 << 20;
  throw Error(
      ErrorKind::memory,
      fmt::format("importing rows of {} fields needs {:.1f} MiB and the memory budget leaves {:.1f} MiB; give a "
                  "larger --memory, or fewer columns or --chunk-rows",
                  reader.header().size(), needed / kMega, static_cast<double>(memory) / kMega),
      {.file = reader.path()});
}

}  // namespace scrm
