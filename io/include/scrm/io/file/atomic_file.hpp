/// AtomicFile: an output that appears under its final name only when it is complete.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace scrm {

class Temporary;

/// Reserves a temporary name beside `path`; commit() syncs and renames it, the destructor removes what was not
/// committed. Replaces a file that was there when it was made, but none that came since. Errors name the final path and
/// say that nothing appeared under it.
class AtomicFile {
 public:
  /// Throws when the folder does not exist or cannot be written, or when `path` is something other than a file.
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  const std::string& temporary_path() const noexcept;
  /// Brings the bytes to disk, gives the file its name, and brings the name to disk.
  void commit();

 private:
  std::string path_;
  std::string target_;  // path_, or what it points to when it is a symbolic link
  bool replaces_;       // whether a file was there
  std::unique_ptr<Temporary> temporary_;
};

/// Writes a whole text file atomically.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace scrm
