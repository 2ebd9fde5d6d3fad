/// CSV files as multiclass data sets: one column is the class, others are features.
#pragma once

#include <string>

#include "scrm/io/labelled/labelled_import.hpp"

namespace scrm {

/// Reads the columns that the options name. Errors name file, line and column; missing values are errors.
LabelledData read_labelled_csv(const std::string& path, const LabelledOptions& options, std::size_t max_bytes);

}  // namespace scrm
