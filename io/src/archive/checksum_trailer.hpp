/// A trailer behind the last byte of a finished HDF5 file: a CRC-32 over everything before it.
#pragma once

#include <string>

#include "file/descriptor.hpp"

namespace scrm {

// HDF5 1.10 follows damaged lengths of texts and lists into memory that is not its own, and damaged numbers look like
// any others. The trailer lets a reader refuse the file before HDF5 sees it. HDF5 itself does not look behind its end;
// a program that changes the file through HDF5 cuts the trailer off, and the file is then read without one.

/// Appends the trailer; the errno when that fails, else 0.
int append_checksum(const std::string& path) noexcept;

enum class ChecksumStatus { absent, valid, mismatch };
/// Absent too when the file cannot be read.
ChecksumStatus verify_checksum(const Descriptor& file) noexcept;

}  // namespace scrm
