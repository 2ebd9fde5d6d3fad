/// LabelledData: contexts with the right answer of every label, as supervised data sets give them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scrm {

/// Rows of features and K bits each, held in memory. A context is dense or sparse, never both.
struct LabelledData {
  std::string name;  ///< of the relation or file, for messages
  std::int64_t rows = 0;
  std::int64_t features = 0;
  int labels = 0;
  bool sparse = false;

  std::vector<double> context;  ///< dense: row-major [rows, features]

  // Sparse: row i has entries [indptr[i], indptr[i + 1]), indices ascending within a row.
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  std::vector<double> values;

  std::vector<std::uint8_t> label;       ///< row-major [rows, labels], 0 or 1
  std::vector<std::string> label_names;  ///< empty, or one for each label
};

}  // namespace scrm
