/// ZipArchive: the entries of a ZIP file, and their bytes one after another, as numpy.savez writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "file/descriptor.hpp"

namespace scrm {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint64_t header = 0;  ///< place of its local header
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
};

/// Reads the directory; every place and length in it is checked against the file. Errors name the file.
class ZipArchive {
 public:
  explicit ZipArchive(std::string path);

  const std::string& path() const noexcept { return path_; }
  const std::vector<ZipEntry>& entries() const noexcept { return entries_; }
  /// Null where there is none of this name.
  const ZipEntry* find(const std::string& name) const noexcept;
  std::int64_t bytes() const noexcept { return static_cast<std::int64_t>(size_); }

 private:
  friend class ZipStream;
  friend class ZipBytes;

  [[noreturn]] void fail(const std::string& what) const;
  std::string bytes_at(std::uint64_t offset, std::size_t count) const;
  void read_directory();
  /// Where the directory lies.
  struct Directory {
    std::uint64_t offset = 0, bytes = 0, entries = 0;
  };
  Directory find_directory() const;
  Directory large_directory(std::uint64_t end_record) const;
  ZipEntry parse_entry(const std::string& directory, std::size_t& at) const;
  void check(const ZipEntry& entry) const;

  std::string path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
  std::vector<ZipEntry> entries_;
};

/// The bytes of one entry, unpacked. At their end the checksum is compared.
class ZipStream {
 public:
  /// Archive and entry must outlive this.
  ZipStream(const ZipArchive& archive, const ZipEntry& entry);
  ~ZipStream();
  ZipStream(ZipStream&&) noexcept;
  ZipStream& operator=(ZipStream&&) = delete;

  const ZipEntry& entry() const noexcept { return *entry_; }
  /// Of the next byte of the archive, where the entry is not compressed.
  std::uint64_t place() const noexcept { return place_; }
  /// The next `count` bytes; an Error that names file and entry where there are fewer.
  void read(void* out, std::size_t count);

 private:
  struct Unpacking;

  [[noreturn]] void fail(const std::string& what) const;
  void read_packed(char* out, std::size_t count);
  void unpack(char* out, std::size_t count);

  const ZipArchive* archive_;
  const ZipEntry* entry_;
  std::uint64_t place_ = 0;  // of the next packed byte in the file
  std::uint64_t packed_left_;
  std::uint64_t left_;
  std::uint32_t crc_ = 0;
  std::unique_ptr<Unpacking> unpacking_;
};

}  // namespace scrm
