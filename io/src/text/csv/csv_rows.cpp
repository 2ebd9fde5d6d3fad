#include "text/csv/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "encoding/iso_date.hpp"
#include "file/text.hpp"
#include "import/cluster_number.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/io/shard/shard_writer.hpp"
#include "text/csv/date_spelling.hpp"
#include "text/csv/number_spelling.hpp"

namespace scrm {
namespace {

constexpr const char* kGiveEncoding = "give the --encoding that `scrm import` wrote for such columns";
constexpr const char* kImpute = "--impute mean (or zero) puts a number there and adds a feature that says where";

bool is_blank_field(std::string_view text) {
  return trimmed(text).empty();
}

}  // namespace

CsvRows::CsvRows(const Schema& schema, const Encoding& encoding, EncodingOrigin origin)
    : builder_(schema),
      origin_(origin),
      action_kind_(schema.action_kind),
      action_names_(schema.action_kind == ActionKind::categorical ? positions_of(encoding.actions) : TextMap<int>()),
      substitutions_(encoding.columns.size()),
      compact_dates_(encoding.columns.size()) {
  for (const EncodedColumn& column : encoding.columns)
    encoders_.emplace_back(column, encoding, origin == EncodingOrigin::plain || origin == EncodingOrigin::given);
}

void CsvRows::begin_file(const std::string& file, const CsvColumns& columns, const std::vector<std::string>& header) {
  file_ = &file;
  columns_ = &columns;
  header_ = &header;
  fields_.clear();
  for (std::size_t c = 0; c < encoders_.size(); ++c)
    fields_.insert(fields_.end(), static_cast<std::size_t>(encoders_[c].features()), columns.context[c]);
  fields_.insert(fields_.end(), columns.action.begin(), columns.action.end());
  numbers_.clear();
  for (const auto* positions : {&columns.loss, &columns.propensity, &columns.label_propensity, &columns.targets})
    numbers_.insert(numbers_.end(), positions->begin(), positions->end());
  fields_.insert(fields_.end(), numbers_.begin(), numbers_.end());
}

void CsvRows::record_first_error(std::int64_t line, std::size_t field, const std::string& what, const Remedy& remedy) {
  if (first_error_) return;
  first_error_ = {*file_, fmt::format("line {}, column '{}': {}", line, (*header_)[field], what), remedy};
}

void CsvRows::reject(BadRecordReason reason, std::int64_t line, std::size_t field, const std::string& what,
                     const Remedy& remedy) {
  ++bad_records_[static_cast<std::size_t>(reason)];
  record_first_error(line, field, what, remedy);
}

/// A text where a number should stand; the remedy is for those that are neither headers nor numbers spelled otherwise.
void CsvRows::reject_text(std::string_view text, std::int64_t line, std::size_t field, const Remedy& remedy) {
  const auto reject_as = [&](const std::string& what, const Remedy& advice) {
    reject(BadRecordReason::not_a_number, line, field, fmt::format("'{}' {}", excerpt(text), what), advice);
  };
  if (repeats_header(record_, *header_))
    return reject_as("is the name of the column: the header is there once more, in the middle of the file", {});
  const bool truth = truth_value(text) >= 0;
  if (const std::string hint = number_hint(text); !hint.empty() && !(truth && !remedy.text.empty()))
    return reject_as("is not a number: " + hint, {.skipping = Skipping::not_advised});
  reject_as("is not a number", remedy);
}

void CsvRows::reject_context(const ColumnEncoder& column, FieldFault fault, std::string_view text, std::int64_t line,
                             std::size_t field) {
  const bool fixed = origin_ == EncodingOrigin::file;
  const bool given = origin_ == EncodingOrigin::given;
  const Remedy impute{given ? kGiveEncoding : kImpute, Skipping::not_advised};
  const std::string shown = excerpt(text);
  switch (fault) {
    case FieldFault::missing:
      return reject(BadRecordReason::value_missing, line, field, "the value is missing",
                    fixed ? Remedy{"the encoding was made with --impute error", Skipping::not_advised} : impute);
    case FieldFault::unseen_level:
      return reject(BadRecordReason::unknown_level, line, field,
                    fmt::format("'{}' is a level that the encoding does not have", shown));
    case FieldFault::not_a_number:
      break;
  }
  if (column.kind() == ColumnKind::date)
    return reject(BadRecordReason::not_a_number, line, field,
                  fmt::format("'{}' is not a date such as 2026-01-31, as other values of this column are", shown));
  if (is_other_date(text) && !parse_iso_date(text))
    return reject(BadRecordReason::not_a_number, line, field,
                  fmt::format("'{}' is not a number but looks like a date; dates are read as 2026-01-31 alone, since "
                              "other spellings leave open which part is the day: write them so",
                              shown),
                  {.skipping = Skipping::not_advised});
  if (fixed) return reject_text(text, line, field);
  if (is_hole(text)) return reject_text(text, line, field, impute);
  if (parse_iso_date(text))
    return reject(BadRecordReason::not_a_number, line, field,
                  fmt::format("'{}' is not a number but a date, and other values are numbers", shown));
  reject_text(text, line, field,
              given ? Remedy{kGiveEncoding, Skipping::not_advised}
                    : Remedy{fmt::format("--categorical '{}' makes a feature of each of its values", (*header_)[field]),
                             Skipping::where_few});
}

bool CsvRows::parse_number(std::string_view text, double& out, std::int64_t line, std::size_t field) {
  if (const std::optional<double> value = parse_double(text)) {
    out = *value;
    return true;
  }
  if (is_blank_field(text))
    reject(BadRecordReason::value_missing, line, field, "the value is missing");
  else
    reject_text(text, line, field);
  return false;
}

bool CsvRows::parse_action(std::string_view text, double& out, std::int64_t line, std::size_t field) {
  const bool names = !action_names_.empty();
  if (const std::optional<double> value = names ? std::nullopt : parse_double(text)) {
    out = *value;
    return true;
  }
  // Bits, as NumPy and pandas write them.
  if (const int truth = action_kind_ == ActionKind::multilabel ? truth_value(text) : -1; truth >= 0) {
    out = truth;
    return true;
  }
  if (names) {
    if (const auto found = action_names_.find(trimmed(text)); found != action_names_.end()) {
      out = found->second;
      return true;
    }
  }
  if (is_blank_field(text)) {
    reject(BadRecordReason::value_missing, line, field, "the value is missing");
    return false;
  }
  if (names)
    reject(BadRecordReason::unknown_level, line, field,
           fmt::format("'{}' is not among the {} actions of the encoding", excerpt(text), action_names_.size()));
  else if (action_kind_ == ActionKind::categorical && origin_ != EncodingOrigin::file)
    reject_text(text, line, field,
                {fmt::format("--categorical '{}' takes actions by name", (*header_)[field]), Skipping::where_few});
  else if (action_kind_ == ActionKind::continuous)
    reject_text(text, line, field, {"--action-kind categorical takes actions by name", Skipping::where_few});
  else
    return parse_number(text, out, line, field);
  return false;
}

bool CsvRows::parse_cluster(std::string_view text, std::int64_t line, std::size_t field) {
  // Rows of unknown users would pass for those of one.
  if (is_hole(text)) {
    reject(BadRecordReason::value_missing, line, field, "the value is missing");
    return false;
  }
  builder_.set_cluster(cluster_number(text));
  return true;
}

bool CsvRows::parse(std::span<const std::string_view> fields, std::int64_t line) {
  record_ = fields;
  if (fields.size() != header_->size()) {
    ++bad_records_[static_cast<std::size_t>(BadRecordReason::wrong_number_of_fields)];
    if (!first_error_)
      first_error_ = {
          *file_,
          fmt::format("line {}: {} where the header has {}", line, count_of(fields.size(), "field"), header_->size()),
          {}};
    return false;
  }
  double* value = builder_.values().data();
  for (std::size_t c = 0; c < encoders_.size(); ++c) {
    const std::size_t field = columns_->context[c];
    Substitute substitute = Substitute::none;
    if (const auto fault = encoders_[c].encode(fields[field], value, substitute)) {
      reject_context(encoders_[c], *fault, fields[field], line, field);
      return false;
    }
    if (substitute != Substitute::none)
      substituted_.push_back({c, substitute});
    else if (compact_dates_[c].all && encoders_[c].kind() == ColumnKind::number)
      compact_dates_[c].add(value[0]);
    value += encoders_[c].features();
  }
  for (const std::size_t field : columns_->action)
    if (!parse_action(fields[field], *value++, line, field)) return false;
  for (const std::size_t field : numbers_)
    if (!parse_number(fields[field], *value++, line, field)) return false;
  for (const std::size_t field : columns_->cluster)
    if (!parse_cluster(fields[field], line, field)) return false;
  return true;
}

bool CsvRows::audit(std::span<const std::string_view> fields, std::int64_t line) {
  const auto violation = builder_.audit();
  if (!violation) return true;
  ++bad_rows_[static_cast<std::size_t>(violation->reason)];
  if (first_error_) return false;
  const std::size_t field = fields_[violation->value];
  const bool hole = violation->reason == BadRowReason::context_not_finite && is_hole(fields[field]) &&
                    origin_ != EncodingOrigin::file;
  record_first_error(line, field, fmt::format("{}: '{}'", to_string(violation->reason), excerpt(fields[field])),
                     hole ? Remedy{kImpute, Skipping::not_advised} : Remedy{});
  return false;
}

void CsvRows::count_substitutions(std::span<const std::string_view> fields) {
  for (const auto& [column, substitute] : substituted_) {
    Substitutions& counts = substitutions_[column];
    if (substitute == Substitute::fill)
      ++counts.holes;
    else if (counts.other_levels++ == 0)
      counts.first_other = trimmed(fields[columns_->context[column]]);
  }
}

bool CsvRows::add(std::span<const std::string_view> fields, std::int64_t line) {
  substituted_.clear();
  if (!parse(fields, line) || !audit(fields, line)) {
    ++bad_;
    return false;
  }
  builder_.store();
  count_substitutions(fields);
  ++good_;
  return true;
}

bool CsvRows::kinds_known() const noexcept {
  return std::none_of(encoders_.begin(), encoders_.end(), [](const ColumnEncoder& one) { return one.kind_open(); });
}

void CsvRows::absorb_counts(CsvRows& other) {
  const auto take = [](std::int64_t& from) { return std::exchange(from, 0); };
  for (std::size_t i = 0; i < bad_records_.size(); ++i) bad_records_[i] += take(other.bad_records_[i]);
  for (std::size_t i = 0; i < bad_rows_.size(); ++i) bad_rows_[i] += take(other.bad_rows_[i]);
  bad_ += take(other.bad_);
  good_ += take(other.good_);
  for (std::size_t c = 0; c < substitutions_.size(); ++c)
    substitutions_[c].merge(std::exchange(other.substitutions_[c], {}));
  for (std::size_t c = 0; c < compact_dates_.size(); ++c)
    compact_dates_[c].merge(std::exchange(other.compact_dates_[c], {}));
  if (!first_error_) first_error_ = std::move(other.first_error_);
  other.first_error_.reset();
}

std::vector<std::string> CsvRows::date_warnings(const Encoding& encoding) const {
  std::vector<std::string> warnings;
  for (std::size_t c = 0; c < compact_dates_.size(); ++c)
    if (compact_dates_[c].all && compact_dates_[c].first > 0)
      warnings.push_back(fmt::format(
          "column '{}': all its values look like dates without dashes, such as {:.0f}, and were read as numbers, in "
          "which months have gaps between them; write 2026-01-31 for days that count",
          encoding.columns[c].name, compact_dates_[c].first));
  return warnings;
}

void CsvRows::CompactDates::add(double value) noexcept {
  all = is_compact_date(value);
  if (first == 0) first = value;
}

void CsvRows::CompactDates::merge(const CompactDates& later) noexcept {
  all = all && later.all;
  if (first == 0) first = later.first;
}

void CsvRows::require_no_bad_rows(bool can_skip) const {
  if (bad_ == 0) return;
  const auto& [file, what, remedy] = *first_error_;
  const std::string advised = remedy.text.empty() ? what : what + "; " + remedy.text;
  if (good_ == 0 && bad_ > 1)
    throw Error(ErrorKind::data, fmt::format("{} (all {} rows are bad: is this the right column?)", advised, bad_),
                {.file = file});
  constexpr std::int64_t kFew = 100;  // one row in so many is a stray one, and says little about its column
  const bool few = bad_ <= (bad_ + good_) / kFew;
  if (can_skip && few && remedy.skipping == Skipping::where_few)
    throw Error(ErrorKind::data, fmt::format("{} {}; or {}", what, bad_rows_in_all(bad_, true), remedy.text),
                {.file = file});
  throw Error(ErrorKind::data, advised + " " + bad_rows_in_all(bad_, can_skip && remedy.skipping == Skipping::advised),
              {.file = file});
}

void require_block_fits(const CsvReader& reader, const Schema& schema, const WriteOptions& write, std::size_t memory) {
  if (memory == 0) return;
  const auto block = static_cast<double>(block_buffer_bytes(schema));
  auto rows = static_cast<double>(chunk_rows(schema, write));
  // A chunk never has more rows than the file, and a row has two characters for each field at least.
  const double fields = 2 * static_cast<double>(reader.header().size());
  if (reader.bytes_total() > 0 && !reader.compressed())
    rows = std::min(rows, static_cast<double>(reader.bytes_total()) / fields);
  const double needed = block + 2 * rows * block / kBlockRows;
  if (needed <= static_cast<double>(memory)) return;
  constexpr double kMega = 1 << 20;
  throw Error(
      ErrorKind::memory,
      fmt::format("importing rows of {} fields ({} features) needs {:.1f} MiB and the memory budget leaves {:.1f} MiB; "
                  "give a larger --memory, or fewer columns",
                  reader.header().size(), schema.features, needed / kMega, static_cast<double>(memory) / kMega),
      {.file = reader.path()});
}

}  // namespace scrm
