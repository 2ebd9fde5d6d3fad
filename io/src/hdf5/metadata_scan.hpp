/// Where a file's own description lies among its rows: what an address that was damaged leads to.
#pragma once

#include <cstdint>
#include <optional>

#include "file/descriptor.hpp"
#include "hdf5/seal.hpp"

namespace scrm {

/// The bytes in which a dataset at this address describes itself; at least its first sixteen.
Extent header_extent(const Descriptor& file, std::uint64_t address, std::uint64_t file_bytes);

/// The place of a structure of HDF5's own (a node of a tree, a heap) near the beginning or the end of an extent that is
/// said to hold rows. Addresses in the older formats have no checksum; in the newer ones HDF5 itself checks them. Each
/// structure is known by fifty bits and more, so that rows are not taken for one.
std::optional<std::uint64_t> find_metadata(const Descriptor& file, const Extent& extent, std::uint64_t file_bytes);

}  // namespace scrm
