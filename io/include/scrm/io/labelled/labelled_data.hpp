/// LabelledData: contexts with their right answers, as supervised data sets give them: K bits, or one of K classes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scrm {

/// Rows of features with K bits or a class each, held in memory. A context is dense or sparse, never both.
struct LabelledData {
  std::string name;  ///< of the relation or file, for messages
  std::int64_t rows = 0;
  std::int64_t features = 0;
  int labels = 0;           ///< K: labels, or classes
  bool multiclass = false;  ///< one class a row, in `category`; else bits, in `label`
  bool sparse = false;

  std::vector<double> context;  ///< dense: row-major [rows, features]

  // Sparse: row i has entries [indptr[i], indptr[i + 1]), indices ascending within a row.
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  std::vector<double> values;

  std::vector<std::uint8_t> label;       ///< row-major [rows, labels], 0 or 1; empty for classes
  std::vector<std::int32_t> category;    ///< [rows], in [0, labels); empty for bits
  std::vector<std::string> label_names;  ///< empty, or one for each label or class
};

}  // namespace scrm
