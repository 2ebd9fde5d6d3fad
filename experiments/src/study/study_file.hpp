/// StudyFile: which labelled data sets a study of estimators is about, as its TOML file says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scrm {

/// Every complaint names file, line and key.
struct StudyFile {
  explicit StudyFile(const std::string& path);

  std::vector<std::string> data;  ///< paths of labelled data, multiclass; found in data_dir or beside the file
  std::vector<std::int64_t> rows = {};
  std::optional<std::int64_t> logs = {};
  std::optional<std::int64_t> seed = {};
};

/// The keys of the file and what they are, a line each: for help.
std::string study_file_help();

}  // namespace scrm
