/// CsvRows: CSV records turned into encoded and audited rows of a block.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/column_encoder.hpp"
#include "encoding/substitutions.hpp"
#include "import/row_builder.hpp"
#include "scrm/io/import/csv_import.hpp"
#include "scrm/io/import/encoding.hpp"
#include "text/csv/csv_columns.hpp"
#include "text/csv/csv_reader.hpp"

namespace scrm {

/// Where an encoding comes from, which decides what a message can advise.
enum class EncodingOrigin : std::uint8_t {
  learned,  ///< from these files, kinds of columns and all
  plain,    ///< numbers and dates; the first value of a column says which
  given,    ///< the same, where a file that import wrote could be given instead
  file      ///< it cannot be changed now
};

/// Whether --skip-bad-rows is the advice: not where all such rows can be made good, by an option or in the file.
enum class Skipping : std::uint8_t { advised, where_few, not_advised };

/// What to do about a bad record besides.
struct Remedy {
  std::string text = {};
  Skipping skipping = Skipping::advised;
};

/// Parses, encodes and audits one record at a time and collects the good ones in a block.
class CsvRows {
 public:
  /// The schema is that of the encoded rows.
  CsvRows(const Schema& schema, const Encoding& encoding, EncodingOrigin origin);

  /// From now on records come from this file. File, columns and header must outlive their records.
  void begin_file(const std::string& file, const CsvColumns& columns, const std::vector<std::string>& header);

  /// Adds a record; false, and counted by reason, when something is wrong with it.
  bool add(std::span<const std::string_view> fields, std::int64_t line);

  /// Whether it is known of every column what its values are.
  bool kinds_known() const noexcept;
  /// Knows of columns what the other knows, which is of the same schema and encoding.
  void adopt_kinds(const CsvRows& other) { encoders_ = other.encoders_; }
  /// Adds what the other, of later records, has counted, and sets that back.
  void absorb_counts(CsvRows& other);

  int rows() const noexcept { return builder_.rows(); }
  std::int64_t bad() const noexcept { return bad_; }
  bool full() const noexcept { return builder_.full(); }
  /// The rows collected so far; they are gone with the next add().
  Block take() noexcept { return builder_.take(); }

  const std::array<std::int64_t, kBadRecordReasons>& bad_records() const noexcept { return bad_records_; }
  const std::array<std::int64_t, kBadRowReasons>& bad_rows() const noexcept { return bad_rows_; }
  /// Of every context column, in the rows that are good.
  const std::vector<Substitutions>& substitutions() const noexcept { return substitutions_; }
  /// A sentence for each column of numbers that all look like dates.
  std::vector<std::string> date_warnings(const Encoding& encoding) const;
  /// Throws the Error that names file, line, column and value of the first bad record, and how many there were; does
  /// nothing when there were none.
  void require_no_bad_rows(bool can_skip) const;

 private:
  struct FirstError {
    std::string file, what;
    Remedy remedy;
  };

  void count_substitutions(std::span<const std::string_view> fields);
  bool parse(std::span<const std::string_view> fields, std::int64_t line);
  bool parse_action(std::string_view text, double& out, std::int64_t line, std::size_t field);
  bool parse_number(std::string_view text, double& out, std::int64_t line, std::size_t field);
  bool parse_cluster(std::string_view text, std::int64_t line, std::size_t field);
  void reject_context(const ColumnEncoder& column, FieldFault fault, std::string_view text, std::int64_t line,
                      std::size_t field);
  void reject(BadRecordReason reason, std::int64_t line, std::size_t field, const std::string& what,
              const Remedy& remedy = {});
  void reject_text(std::string_view text, std::int64_t line, std::size_t field, const Remedy& remedy = {});
  void record_first_error(std::int64_t line, std::size_t field, const std::string& what, const Remedy& remedy);
  bool audit(std::span<const std::string_view> fields, std::int64_t line);

  RowBuilder builder_;
  EncodingOrigin origin_;
  ActionKind action_kind_;
  std::vector<ColumnEncoder> encoders_;
  TextMap<int> action_names_;  // empty: actions are numbers

  const std::string* file_ = nullptr;
  const std::vector<std::string>* header_ = nullptr;
  const CsvColumns* columns_ = nullptr;
  std::span<const std::string_view> record_;  // that is being parsed
  std::vector<std::size_t> numbers_;          // fields behind context and action, in the order of the builder's values
  std::vector<std::size_t> fields_;           // the field of each of the builder's values

  struct Substituted {
    std::size_t column;
    Substitute substitute;
  };
  std::vector<Substituted> substituted_;  // in the record at hand
  std::vector<Substitutions> substitutions_;

  /// Whether all numbers of a column, the first of which is kept, are dates without dashes.
  struct CompactDates {
    bool all = true;
    double first = 0;  // 0: none yet
    void add(double value) noexcept;
    void merge(const CompactDates& later) noexcept;
  };
  std::vector<CompactDates> compact_dates_;
  std::int64_t bad_ = 0;  // rows and records
  std::int64_t good_ = 0;
  std::array<std::int64_t, kBadRecordReasons> bad_records_{};
  std::array<std::int64_t, kBadRowReasons> bad_rows_{};
  std::optional<FirstError> first_error_;
};

/// Throws an Error of kind memory where a block of such rows and a chunk of them in encoded form do not fit into
/// `memory` bytes (0: no limit).
void require_block_fits(const CsvReader& reader, const Schema& schema, const WriteOptions& write, std::size_t memory);

}  // namespace scrm
