/// A process of its own that reads the HDF5 files of others: what HDF5 does with damaged bytes stays in there.
#pragma once

#include <string>

#include "hdf5/hdf5_service.hpp"

namespace scrm {

/// Like Hdf5Service::answer, from another process that is started when it is first needed. An Error that names the file
/// when HDF5 crashes over it, wants more memory than such files need, or does not come to an end. `own` is the service
/// of this process, whose files must not be open when the other is made from it. Any thread.
std::string guarded_answer(const Hdf5Request& request, Hdf5Service& own);

}  // namespace scrm
