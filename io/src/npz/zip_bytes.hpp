/// ZipBytes: the bytes of one entry of an archive at any place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "file/temporary.hpp"
#include "npz/zip_archive.hpp"

namespace scrm {

/// Reads the entry once to its end, which compares its checksum. What is compressed is unpacked into a file that lives
/// as long as this, so that the memory stays constant.
class ZipBytes {
 public:
  /// Archive and entry must outlive this. The file is made `beside` an output, where there is room for what comes of
  /// it.
  ZipBytes(const ZipArchive& archive, const ZipEntry& entry, const std::string& beside);

  /// The bytes from `offset` on; an Error that names file and entry where they cannot be read.
  void read(void* out, std::size_t count, std::uint64_t offset) const;

 private:
  const ZipArchive* archive_;
  const ZipEntry* entry_;
  std::uint64_t place_ = 0;  // of the entry in its file
  std::unique_ptr<Temporary> unpacked_;
};

}  // namespace scrm
