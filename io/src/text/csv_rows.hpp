/// CsvRows: CSV records turned into audited rows of a block.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "audit/audit_rule.hpp"
#include "scrm/io/block_buffer.hpp"
#include "scrm/io/csv_import.hpp"
#include "text/csv_columns.hpp"
#include "text/csv_reader.hpp"

namespace scrm {

/// Parses and audits one record at a time and collects the good ones in a block.
class CsvRows {
 public:
  CsvRows(const CsvColumns& columns, const std::vector<std::string>& header);

  /// Adds a record; false, and counted by reason, when something is wrong with it.
  bool add(std::span<const std::string_view> fields, std::int64_t line);

  int rows() const noexcept { return rows_; }
  bool full() const noexcept { return rows_ == kBlockRows; }
  /// The rows collected so far; they are gone with the next add().
  Block take() noexcept;

  const std::array<std::int64_t, kBadRecordReasons>& bad_records() const noexcept { return bad_records_; }
  const std::array<std::int64_t, kBadRowReasons>& bad_rows() const noexcept { return bad_rows_; }
  /// Throws the Error that names line, column and value of the first bad record, and how many there were; does nothing
  /// when there were none.
  void require_no_bad_rows(const std::string& file, bool can_skip) const;

 private:
  /// A field that is read: where it stands, and how its value must be.
  struct FieldRule {
    std::size_t field;
    AuditRule rule;
    bool whole;  ///< no fractions
  };

  void add_rules(const std::vector<std::size_t>& fields, const AuditRule& rule, bool whole = false);
  bool parse(std::span<const std::string_view> fields, std::int64_t line);
  static std::optional<BadRowReason> violation(const FieldRule& rule, double value) noexcept;
  bool audit(std::span<const std::string_view> fields, std::int64_t line);
  void store() noexcept;
  void record_first_error(std::int64_t line, std::string_view column, const std::string& what);

  const std::vector<std::string>& header_;
  BlockBuffer buffer_;
  double loss_sign_;
  std::vector<FieldRule> rules_;  // in the order values_ has: context, action, loss, propensity, labels, targets
  std::vector<double> values_;    // of the record at hand
  int rows_ = 0;
  std::int64_t bad_ = 0;  // rows and records
  std::array<std::int64_t, kBadRecordReasons> bad_records_{};
  std::array<std::int64_t, kBadRowReasons> bad_rows_{};
  std::string first_error_;  // its line, column and value; empty while all were good
};

/// Throws an Error of kind memory where a block of such rows and a chunk of them in encoded form do not fit into
/// `memory` bytes (0: no limit).
void require_block_fits(const CsvReader& reader, const Schema& schema, const WriteOptions& write, std::size_t memory);

}  // namespace scrm
