/// A seal behind the last byte of a finished HDF5 file: a CRC-32 over everything before it.
#pragma once

#include <string>

namespace scrm {

// HDF5 1.10 follows damaged lengths of texts and lists into memory that is not its own, and damaged numbers look like
// any others. The seal lets a reader refuse the file before HDF5 sees it. HDF5 itself does not look behind its end; a
// program that changes the file through HDF5 cuts the seal off, and the file is then read without one.

/// Appends the seal; the errno when that fails, else 0.
int seal_file(const std::string& path) noexcept;

enum class Seal { absent, whole, broken };
/// Absent too when the file cannot be read.
Seal check_seal(int descriptor) noexcept;

}  // namespace scrm
