#include "text/csv/csv_findings.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "encoding/encoding_learner.hpp"
#include "scrm/io/file/numbers.hpp"
#include "text/csv/csv_batches.hpp"
#include "text/csv/csv_reader.hpp"

namespace scrm {
namespace {

constexpr const char* kNotTheAction = "each would be an action of its own; is this the column of the action?";

/// Actions are names where their column is declared categorical, or where none is a number: one stray word among
/// numbers is a bad row.
class ActionLearner {
 public:
  ActionLearner(const std::string& column, bool by_name)
      : by_name_(by_name), names_(column, kMaxActionNames, kNotTheAction, kNotTheAction) {}

  void add(std::string_view text, const std::string& file) {
    if (is_hole(text) && !by_name_) return;
    const std::optional<double> number = by_name_ ? std::nullopt : parse_double(text);
    if (number) {
      numbers_ = true;
      largest_ = std::max(largest_, *number);
    } else if (!numbers_ && text.find_first_not_of(" \t") != std::string_view::npos) {
      names_.add(text, file);
    }
  }

  /// Adds what another one has seen.
  void merge(const ActionLearner& other, const std::string& file) {
    numbers_ = numbers_ || other.numbers_;
    largest_ = std::max(largest_, other.largest_);
    if (!numbers_) names_.merge(other.names_, file);
  }

  void report(CsvFindings& findings) const {
    if (numbers_)
      findings.largest_action = largest_;
    else
      findings.action_names = names_.sorted();
  }

 private:
  bool by_name_;
  bool numbers_ = false;
  double largest_ = -1;
  LevelSet names_;
};

/// Looks at the records of one file after another.
class RecordScan final : public CsvWork {
 public:
  RecordScan(const CsvImport& import, const CsvColumns& columns, const std::vector<std::string>& header)
      : categorical_(import.action_kind == ActionKind::categorical),
        whole_(columns, header, import.impute.value_or(Impute::error)) {}

  /// From now on records come from this file. What is given must outlive them.
  void begin_file(const CsvReader& reader, const CsvColumns& columns) {
    reader_ = &reader;
    columns_ = &columns;
  }

  void add(std::span<const std::string_view> fields, std::int64_t) override { add_to(whole_, fields); }
  bool ready() const override {
    return std::all_of(whole_.columns.begin(), whole_.columns.end(), [](const auto& one) { return one.kind_known(); });
  }
  void start(std::size_t slots) override {
    while (slots_.size() < slots) slots_.push_back(whole_.fresh());
  }
  void add_to(std::size_t slot, std::span<const std::string_view> fields, std::int64_t) override {
    add_to(slots_[slot], fields);
  }
  void merge(std::size_t slot) override { whole_.absorb(slots_[slot]); }

  CsvFindings findings() {
    for (const Seen& slot : slots_) whole_.merge_names(slot, reader_->path());
    CsvFindings out;
    out.records = whole_.records;
    for (const ColumnLearner& learner : whole_.columns) out.columns.push_back(learner.learned());
    if (categorical_) whole_.actions.report(out);
    return out;
  }

 private:
  struct Seen {
    Seen(const CsvColumns& chosen, const std::vector<std::string>& header, Impute impute)
        : actions(header[chosen.action.front()], contains(chosen.categorical, chosen.action.front())) {
      for (const std::size_t position : chosen.context)
        columns.emplace_back(header[position], contains(chosen.categorical, position), impute);
    }

    Seen fresh() const {
      Seen copy = *this;
      copy.records = 0;
      for (ColumnLearner& column : copy.columns) column = column.fresh();
      return copy;
    }
    void absorb(Seen& later) {
      records += std::exchange(later.records, 0);
      for (std::size_t c = 0; c < columns.size(); ++c) columns[c].absorb_sums(later.columns[c]);
    }
    void merge_names(const Seen& other, const std::string& file) {
      for (std::size_t c = 0; c < columns.size(); ++c) columns[c].merge_levels(other.columns[c], file);
      actions.merge(other.actions, file);
    }

    std::int64_t records = 0;
    std::vector<ColumnLearner> columns;
    ActionLearner actions;
  };

  void add_to(Seen& seen, std::span<const std::string_view> fields) const {
    ++seen.records;
    const std::vector<std::string>& header = reader_->header();
    if (fields.size() != header.size()) return;
    // A header in the middle of the file is a bad row, which may be left out: its words are no levels and no actions.
    if (repeats_header(fields, header)) return;
    for (std::size_t c = 0; c < seen.columns.size(); ++c)
      seen.columns[c].add(fields[columns_->context[c]], reader_->path());
    if (categorical_) seen.actions.add(fields[columns_->action.front()], reader_->path());
  }

  bool categorical_;
  const CsvReader* reader_ = nullptr;
  const CsvColumns* columns_ = nullptr;
  Seen whole_;
  std::vector<Seen> slots_;
};

}  // namespace

CsvFindings scan_records(const CsvImport& import, const CsvColumns& columns, const std::vector<std::string>& header,
                         std::span<const std::shared_ptr<const UnpackedText>> texts, const BytesProgress& progress) {
  RecordScan scan(import, columns, header);
  std::int64_t bytes_before = 0;
  CsvFindings findings;
  for (std::size_t f = 0; f < import.files.size(); ++f) {
    CsvReader reader(import.files[f], import.delimiter, texts[f]);
    const CsvColumns here = f == 0 ? columns : match_columns(import, columns, header, reader.path(), reader.header());
    scan.begin_file(reader, here);
    read_records(reader, import, csv_slots(import, 0), scan, [&] {
      if (progress) progress(bytes_before + reader.bytes_done(), 0);
    });
    bytes_before += reader.bytes_total();
    if (f + 1 == import.files.size()) findings = scan.findings();
  }
  return findings;
}

}  // namespace scrm
