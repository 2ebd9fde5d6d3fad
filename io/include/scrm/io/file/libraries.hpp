/// Versions of the libraries that only io/ sees.
#pragma once

#include <string>

namespace scrm {

/// "1.10.8", of the library that is loaded.
std::string hdf5_version();

}  // namespace scrm
