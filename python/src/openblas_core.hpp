/// OpenBLAS's kernels in a process that is not ours: chosen for a private copy, never by way of the environment.
#pragma once

#include <string>

namespace scrm::python {

/// Has a private OpenBLAS use the kernels that the program would have it use; a core that the user names in
/// OPENBLAS_CORETYPE is left alone. Returns what OpenBLAS had chosen itself, empty where that was right. To be called
/// once, before OpenBLAS is used.
std::string choose_openblas_core();

/// Whether this module has an OpenBLAS of its own.
bool openblas_is_private();

}  // namespace scrm::python
