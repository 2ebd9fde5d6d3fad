/// Attributes of HDF5 objects that are written: texts, lists of them and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hdf5/hdf5_handle.hpp"

namespace scrm {

/// Writes a value; false when HDF5 could not. Needs the hdf5::Lock.
bool write_attribute(hid_t object, const char* name, std::int64_t value);
bool write_attribute(hid_t object, const char* name, double value);
bool write_attribute(hid_t object, const char* name, const std::string& value);
bool write_attribute(hid_t object, const char* name, const std::vector<std::string>& values);

}  // namespace scrm
