/// LIBSVM files, with several labels a row, "3,7 1:0.5 12:1", or with its class, "3 1:0.5 12:1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

/// Labels and features are numbered in the file. What is not said is derived from the numbers that occur.
struct LibsvmOptions {
  int labels = 0;             ///< K; 0: as many as the largest number asks for
  std::int64_t features = 0;  ///< 0: as many as the largest number asks for
  /// The number of the first label, 0 or 1. Not given: 0 where label 0 occurs; 1 where label K occurs, or where K is
  /// not given either; otherwise 0.
  std::optional<int> first_label = {};
  /// The number of the first feature, 0 or 1. Not given: 0 where feature 0 occurs, otherwise 1, as the format has it.
  std::optional<int> first_feature = {};
  /// Every row begins with its class, a number or a text; classes are those that occur. Neither `labels` nor
  /// `first_label` is given then.
  bool multiclass = false;
  std::size_t max_bytes = 0;  ///< text that a file may have; 0: no limit
};

/// How the numbers of a file were understood.
struct LibsvmNumbering {
  int first_label = 0;
  int first_feature = 1;
};

/// Reads one file to sparse data. A row without labels begins with a space or with its first feature; text behind '#'
/// and lines without anything are passed over; entries that are zero are left out. Errors name file, line and token.
LabelledData read_libsvm(const std::string& path, const LibsvmOptions& options, LibsvmNumbering* numbering = nullptr);

/// Reads several files as one data set in this order, numbered alike.
LabelledData read_libsvm(const std::vector<std::string>& paths, const LibsvmOptions& options,
                         LibsvmNumbering* numbering = nullptr);

}  // namespace scrm
