/// Texts in HDF5, in attributes and datasets, of fixed or variable length.
#pragma once

#include <string>
#include <vector>

#include "hdf5/hdf5_handle.hpp"

namespace scrm::hdf5 {

/// UTF-8 of variable length, which h5py shows as str rather than bytes; not valid when HDF5 could not make it.
Handle text_type();

/// What HDF5 wants to be given for texts of variable length; valid as long as the texts are.
std::vector<const char*> text_pointers(const std::vector<std::string>& texts);

/// All texts of an open attribute or dataset. Throws an Error of this place when it holds none or they cannot be read.
/// Needs the Lock.
std::vector<std::string> read_texts(hid_t object, const Place& place);

}  // namespace scrm::hdf5
