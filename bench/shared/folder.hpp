/// A folder for the files of a benchmark.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "support/files.hpp"

namespace scrm::bench {

/// SCRM_BENCH_DIR, where other programs can read the same files, or a folder that goes when the benchmark ends.
class Folder {
 public:
  Folder() {
    if (const char* given = std::getenv("SCRM_BENCH_DIR")) {
      path_ = given;
    } else {
      path_ = own_.emplace().path;
    }
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::optional<testing::Folder> own_;
  std::filesystem::path path_;
};

}  // namespace scrm::bench
