#include "text/csv/csv_findings.hpp"

#include <algorithm>
#include <optional>

#include "encoding/encoding_learner.hpp"
#include "scrm/io/file/numbers.hpp"
#include "text/csv/csv_reader.hpp"

namespace scrm {
namespace {

/// Actions are names where their column is declared categorical, or where none is a number: one stray word among
/// numbers is a bad row.
class ActionLearner {
 public:
  ActionLearner(const std::string& column, bool by_name)
      : by_name_(by_name),
        names_(column, kMaxActionNames, "each would be an action of its own; is this the column of the action?") {}

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

bool contains(const std::vector<std::size_t>& positions, std::size_t position) {
  return std::find(positions.begin(), positions.end(), position) != positions.end();
}

}  // namespace

CsvFindings scan_records(const CsvImport& import, const CsvColumns& columns, const std::vector<std::string>& header,
                         const BytesProgress& progress) {
  const Impute impute = import.impute.value_or(Impute::error);
  std::vector<ColumnLearner> learners;
  for (const std::size_t position : columns.context)
    learners.emplace_back(header[position], contains(columns.categorical, position), impute);
  const std::size_t action = columns.action.front();
  ActionLearner actions(header[action], contains(columns.categorical, action));
  const bool categorical = import.action_kind == ActionKind::categorical;

  CsvFindings findings;
  std::int64_t bytes_before = 0;
  for (std::size_t f = 0; f < import.files.size(); ++f) {
    CsvReader reader(import.files[f], import.delimiter);
    const CsvColumns here = f == 0 ? columns : match_columns(import, columns, header, reader.path(), reader.header());
    while (reader.next()) {
      if (++findings.records % kBlockRows == 0 && progress) progress(bytes_before + reader.bytes_done(), 0);
      const auto fields = reader.fields();
      if (fields.size() != reader.header().size()) continue;
      for (std::size_t c = 0; c < learners.size(); ++c) learners[c].add(fields[here.context[c]], reader.path());
      if (categorical) actions.add(fields[here.action.front()], reader.path());
    }
    bytes_before += reader.bytes_total();
  }
  for (const ColumnLearner& learner : learners) findings.columns.push_back(learner.learned());
  if (categorical) actions.report(findings);
  return findings;
}

}  // namespace scrm
