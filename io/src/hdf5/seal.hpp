/// The seal of a finished HDF5 file: a checksum behind its last byte, over all of it or all but the rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "file/descriptor.hpp"

namespace scrm {

// HDF5 1.10 follows damaged lengths and addresses into memory that is not its own, or round in circles, and a damaged
// type or attribute looks like any other. The seal lets a reader refuse such a file before HDF5 sees it. HDF5 does not
// look behind its own end; a program that changes the file through HDF5 cuts the seal off, and the file is then read
// like one of somebody else.

/// Bytes [begin, end) of a file.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Appends the seal; the errno when that fails, else 0. The bytes in `unsealed` (rows, which would take long to read
/// before they are needed; in ascending order) do not count. The note is kept in the seal, under its checksum.
int append_seal(const std::string& path, const std::vector<Extent>& unsealed, const std::string& note = "");

enum class SealStatus { absent, valid, broken };

struct Seal {
  SealStatus status = SealStatus::absent;  ///< too when the file cannot be read
  std::string note;                        ///< of a valid one
};

Seal read_seal(const Descriptor& file);

}  // namespace scrm
