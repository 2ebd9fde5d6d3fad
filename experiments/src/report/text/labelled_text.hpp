/// What a labelled data set holds, as text for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

struct LabelledSummary {
  std::int64_t entries = 0;                ///< numbers of the context that are not zero
  std::vector<std::int64_t> label_counts;  ///< rows that have each label
  std::int64_t labels_set = 0;             ///< over all rows
};

LabelledSummary summarize(const LabelledData& data);

/// "294 features, dense, 99.8 % not zero".
std::string context_text(const LabelledData& data, const LabelledSummary& summary);

/// "6 labels" or "10 classes".
std::string answers_text(const LabelledData& data);

/// Labels a row, the share of rows that has each label, and a note where a label never varies.
std::string labels_text(const LabelledData& data, const LabelledSummary& summary);

/// Rows, features, labels, density, names and counts of labels; null where there is nothing to divide by.
nlohmann::ordered_json labelled_json(const LabelledData& data, const LabelledSummary& summary);

}  // namespace scrm
