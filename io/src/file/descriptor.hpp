/// File descriptors that close themselves, and reads and writes through them that are not stopped by signals.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "scrm/io/file/error.hpp"

namespace scrm {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  /// Not open, and errno says why, when the system refuses. A file that is created may be read and written by all whom
  /// the umask allows.
  Descriptor(const std::string& path, int flags) noexcept;
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const noexcept { return number_; }
  bool open() const noexcept { return number_ >= 0; }
  /// Closes now; the errno when that fails, which is where network file systems report some failed writes, else 0.
  int close() noexcept;

 private:
  int number_ = -1;
};

/// What this errno means and, where no more files can be opened, what to do about it.
std::string reason_of(int error);

/// How many files may be kept open for later by whoever does so: 16, fewer where the process may not open many.
std::size_t files_kept_open() noexcept;

/// Reads what is there, at most `size` bytes: 0 at the end, -1 and errno when it fails.
ssize_t read_some(const Descriptor& file, void* out, std::size_t size) noexcept;

/// Reads `size` bytes at this place, fewer only where the file ends: how many they were, or -1 and errno.
ssize_t read_at(const Descriptor& file, void* out, std::size_t size, std::int64_t offset) noexcept;

/// Reads `size` bytes at this place; an Error there when the file ends before or cannot be read.
void read_all_at(const Descriptor& file, void* out, std::size_t size, std::uint64_t offset, const Place& place);

/// Writes all bytes at this place; the errno when that fails, else 0.
int write_at(const Descriptor& file, std::string_view bytes, std::int64_t offset) noexcept;

/// Brings the file's bytes to disk; the errno when that fails, else 0.
int sync(const Descriptor& file) noexcept;

/// The folder that the file is in, "." where its name has none.
std::string folder_of(const std::string& path);

/// Brings the names in the folder of this file to disk. A file system that cannot sync folders is no reason to fail.
void sync_folder_of(const std::string& path);

}  // namespace scrm
