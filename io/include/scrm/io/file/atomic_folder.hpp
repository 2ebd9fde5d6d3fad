/// AtomicFolder: a folder of shards that appears under its final name only when all of them are complete.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace scrm {

class Temporary;

/// Makes a hidden folder beside `path` to write into; commit() gives it its name, the destructor removes what was not
/// committed. Missing parent folders are made.
class AtomicFolder {
 public:
  /// Throws when `path` is taken: a file, a symbolic link, or a folder with something in it. With `overwrite`, a folder
  /// that holds nothing but shards of logged rows is replaced by commit(); any other is left alone all the same.
  AtomicFolder(std::string path, bool overwrite);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// Where to write until commit().
  const std::string& temporary_path() const noexcept;
  /// Runs what writes into temporary_path(); its errors name the final path instead.
  void write(const std::function<void()>& action) const;
  /// One step where there is nothing to replace, and where the file system can exchange two folders. Elsewhere a
  /// process killed at the wrong moment leaves the old folder under another name, which clear_leftovers() takes back.
  void commit();

 private:
  void replace();
  [[noreturn]] void fail_naming(int error) const;

  std::string path_;    // as given, for messages
  std::string target_;  // without a trailing slash
  bool overwrite_;
  std::unique_ptr<Temporary> temporary_;
};

}  // namespace scrm
