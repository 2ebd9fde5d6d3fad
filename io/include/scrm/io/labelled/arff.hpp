/// ARFF files as multilabel and multiclass data sets come in them: attributes declared by name, rows dense or sparse.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

/// Which attributes are labels: the last `labels` ones, or those with these names, wherever they stand. Or which one is
/// the class, for multiclass data. Exactly one of the three is given.
struct ArffOptions {
  int labels = 0;
  std::vector<std::string> label_names = {};
  std::optional<std::string> class_name = {};  ///< empty: the last attribute
  /// Where not empty, the last attribute is the class if it looks like one, a nominal attribute that is not one 0/1
  /// attribute behind another; else this is what a usage Error says.
  std::string class_unclear = {};
  std::size_t max_bytes = 0;  ///< text that a file may have; 0: no limit
};

/// Reads one file. Attributes are numeric, or nominal with numbers for values; labels are 0 or 1. Features and labels
/// keep the order in which the file declares them, whatever the order of `label_names`. Sparse rows give sparse data.
/// Errors name file, line and attribute; missing values are errors.
/// With a class, nominal features may be texts: each value but the first becomes a feature of 0 and 1. Classes are the
/// values the class is declared with, whether they occur or not; of a numeric class, the numbers that occur, ascending.
LabelledData read_arff(const std::string& path, const ArffOptions& options);

/// Reads files that declare the same attributes, such as a training and a test part, as one data set in this order.
LabelledData read_arff(const std::vector<std::string>& paths, const ArffOptions& options);

/// The names in a Mulan label file, <label name="..."> in document order, those of nested labels included.
std::vector<std::string> read_label_names(const std::string& path);

}  // namespace scrm
