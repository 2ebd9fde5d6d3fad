/// SweepFile: what a sweep is to run, as its TOML file says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scrm/experiments/method.hpp"
#include "scrm/experiments/run_options.hpp"

namespace scrm {

/// A path that a TOML file names: relative to the file's own folder where it exists there, else as it is.
std::string path_beside(const std::string& file, const std::string& path);
/// The folder of labelled data: the one that the file names, else the variable SCRM_DATA_DIR, else ./data.
std::string labelled_data_dir(const std::string& file, const std::optional<std::string>& named);

/// A method as the sweep names it: one of methods(), or a variant of one with options of its own.
struct SweepMethod {
  std::string name;
  const MethodEntry* method = nullptr;
};

/// Parsed once; every complaint names file, line and key, and says what would be right.
class SweepFile {
 public:
  explicit SweepFile(const std::string& path);
  ~SweepFile();
  SweepFile(SweepFile&&) noexcept;
  SweepFile& operator=(SweepFile&&) noexcept;

  const std::string& path() const noexcept { return path_; }
  const std::string& text() const noexcept { return text_; }
  const std::vector<std::string>& environments() const noexcept { return environments_; }
  const std::vector<SweepMethod>& methods() const noexcept { return methods_; }
  const std::vector<std::int64_t>& seeds() const noexcept { return seeds_; }
  /// The folder of labelled data: data_dir (relative to the sweep file's folder where it exists there), then the
  /// variable SCRM_DATA_DIR, then ./data.
  const std::string& data_dir() const noexcept { return data_dir_; }
  /// A path that the file names: relative to the file's own folder where it exists there, else as it is.
  std::string resolved(const std::string& path) const { return path_beside(path_, path); }

  /// An environment's own options as changed by the file: by its top, by [environment.NAME], by [method.NAME]. A λ of
  /// the top does not change an environment whose λ is part of its definition.
  RunOptions options(const RunOptions& defaults, const std::string& environment, const std::string& method) const;

 private:
  class Reader;
  std::string path_;
  std::string text_;
  std::vector<std::string> environments_;
  std::vector<SweepMethod> methods_;
  std::vector<std::int64_t> seeds_;
  std::string data_dir_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace scrm
