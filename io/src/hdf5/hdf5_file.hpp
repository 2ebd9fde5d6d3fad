/// Hdf5File: an HDF5 file opened for reading, by HDF5 and by address.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "file/descriptor.hpp"
#include "hdf5/buffer_pool.hpp"
#include "hdf5/hdf5_handle.hpp"

namespace scrm {

/// The file behind an array: HDF5's handle, and a descriptor of our own to read by address.
struct Hdf5File {
  std::shared_ptr<const std::string> path;
  std::shared_ptr<BufferPool> pool;  ///< for its chunks
  hdf5::Handle handle;
  std::shared_ptr<const Descriptor> descriptor;
  std::int64_t bytes = 0;
  bool has_file_addresses = true;  ///< whether HDF5's addresses are the file's (they are not behind a user block)

  Hdf5File() = default;
  Hdf5File(Hdf5File&&) noexcept = default;
  Hdf5File& operator=(Hdf5File&&) = delete;
  ~Hdf5File();
};

/// Opens an HDF5 file for reading; errors tell a missing file from one that is foreign, damaged or cut short.
Hdf5File open_hdf5_file(const std::string& path, std::shared_ptr<BufferPool> pool);

/// What is stored under a name: a dataset, a group, or H5O_TYPE_UNKNOWN when there is nothing. Needs the hdf5::Lock.
H5O_type_t object_type(const Hdf5File& file, const std::string& name);

}  // namespace scrm
