/// A file driver for HDF5 that records failed writes (a full disk) and hides them from the HDF5 library.
#pragma once

#include <string>
#include <vector>

#include "hdf5/hdf5_handle.hpp"
#include "hdf5/seal.hpp"

namespace scrm::hdf5 {

/// What happened to the writes of one file.
struct WriteStatus {
  int error = 0;             ///< errno of the first write that failed, 0 while all went well
  std::vector<Extent> rows;  ///< where the numbers of datasets went, in the order they were written
};

/// Creates (or empties) a file whose writes go through a driver of our own. When a write fails, the driver notes it in
/// `status`, drops this write and all later ones, and tells HDF5 that they worked. HDF5 1.10 cannot close a file after
/// a failed write: the id stays behind half freed and the process crashes as it exits. Whoever writes must therefore
/// look at `status` after writing and after closing; it must outlive the file. An invalid handle when the file cannot
/// be created. Needs the Lock.
Handle create_file(const std::string& path, WriteStatus& status);

/// Seals all but the rows of a file that was created here and is closed again, and keeps a note in the seal; an errno
/// that it met goes into `status`.
void seal_file(const std::string& path, WriteStatus& status, const std::string& note = "");

}  // namespace scrm::hdf5
