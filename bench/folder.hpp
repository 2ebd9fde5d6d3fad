/// A folder for the files of a benchmark.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace scrm::bench {

/// SCRM_BENCH_DIR, where other programs can read the same files, or a folder that goes when the benchmark ends.
class Folder {
 public:
  Folder() {
    const char* given = std::getenv("SCRM_BENCH_DIR");
    std::string name = (std::filesystem::temp_directory_path() / "scrm-bench-XXXXXX").string();
    if (given == nullptr && mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    keep_ = given != nullptr;
    path_ = keep_ ? given : name;
  }
  ~Folder() {
    if (!keep_) std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  bool keep_ = false;
  std::filesystem::path path_;
};

}  // namespace scrm::bench
