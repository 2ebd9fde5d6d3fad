/// Attributes of HDF5 objects as text and whole numbers, however they were stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hdf5/hdf5_file.hpp"

namespace scrm {

/// `object` is a path in the file ("/" for the root). Empty when there is no such attribute; throws when it is not text
/// (of fixed or variable length) or not a whole number (of any width). Needs the hdf5::Lock.
std::optional<std::string> text_attribute(const Hdf5File& file, const char* object, const char* name);
std::optional<std::int64_t> integer_attribute(const Hdf5File& file, const char* object, const char* name);

/// Writes one value; false when HDF5 could not. Needs the hdf5::Lock.
bool write_attribute(hid_t object, const char* name, std::int64_t value);
bool write_attribute(hid_t object, const char* name, const std::string& value);

}  // namespace scrm
