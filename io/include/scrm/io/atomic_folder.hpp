/// AtomicFolder: a folder of shards that appears under its final name only when all of them are complete.
#pragma once

#include <string>

namespace scrm {

/// Makes a hidden folder beside `path` to write into; commit() gives it its name, the destructor removes what was not
/// committed. Missing parent folders are made.
class AtomicFolder {
 public:
  /// Throws when `path` is taken: a file, or a folder with something in it. With `overwrite`, a folder that holds
  /// nothing but shards (.h5 files) is replaced by commit(); any other is left alone all the same.
  AtomicFolder(std::string path, bool overwrite);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// Where to write until commit().
  const std::string& temporary_path() const noexcept { return temporary_; }
  void commit();

 private:
  std::string path_;    // as given, for messages
  std::string target_;  // without a trailing slash
  std::string temporary_;
  bool overwrite_;
  bool committed_ = false;
};

}  // namespace scrm
