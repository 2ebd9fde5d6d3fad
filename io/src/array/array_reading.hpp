/// What HDF5 is asked about one open dataset of numbers: its facts, and what only HDF5 can read.
#pragma once

#include <cstdint>
#include <string>

#include "array/array_facts.hpp"
#include "hdf5/hdf5_handle.hpp"

namespace scrm::hdf5 {

// All of these need the Lock and throw Errors of `place`, whose dataset is the name.

Handle open_dataset(hid_t file, const Place& place);

/// Throws when it holds no numbers of a type known here, or is neither a list nor a table.
ArrayFacts read_facts(hid_t dataset, bool has_file_addresses, const Place& place);

/// The numbers of rows [first, first + rows), as the facts' element.
std::string read_rows(hid_t dataset, std::int64_t first, std::int64_t rows, const Place& place);

/// Of chunks [first, first + count), one behind the other: the filters it was stored without and its length, in eight
/// bytes each, and its bytes as the file holds them.
std::string read_chunks(hid_t dataset, std::int64_t first, std::int64_t count, std::int64_t file_bytes,
                        const Place& place);

}  // namespace scrm::hdf5
