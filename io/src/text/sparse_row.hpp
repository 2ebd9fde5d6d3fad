/// SparseRow: the entries of one row as text gives them, put in order for a sparse context.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

class SparseRow {
 public:
  void clear() noexcept { entries_.clear(); }
  void add(std::int64_t index, double value) { entries_.push_back({index, value}); }

  /// Appends the entries in ascending order, zeros left out, and ends the row. Returns an index that was given twice,
  /// if there is one; nothing is appended then.
  std::optional<std::int64_t> append_to(LabelledData& data) {
    const auto before = [](const Entry& a, const Entry& b) { return a.index < b.index; };
    if (!std::is_sorted(entries_.begin(), entries_.end(), before))
      std::stable_sort(entries_.begin(), entries_.end(), before);
    const auto twice = std::adjacent_find(entries_.begin(), entries_.end(),
                                          [](const Entry& a, const Entry& b) { return a.index == b.index; });
    if (twice != entries_.end()) return twice->index;
    for (const Entry& entry : entries_) {
      if (entry.value == 0) continue;
      data.indices.push_back(static_cast<std::int32_t>(entry.index));
      data.values.push_back(entry.value);
    }
    data.indptr.push_back(static_cast<std::int64_t>(data.indices.size()));
    return std::nullopt;
  }

 private:
  struct Entry {
    std::int64_t index;
    double value;
  };
  std::vector<Entry> entries_;
};

}  // namespace scrm
