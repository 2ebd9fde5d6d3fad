/// Puts OpenBLAS's choice of kernels right when it does not know the processor.
#pragma once

#include <string>

namespace scrm {

/// OpenBLAS picks its kernels when it is loaded, before main: where a better choice exists the program sets
/// OPENBLAS_CORETYPE and starts itself again, once. A value that the user set is left alone. Also keeps OpenBLAS to one
/// thread. Returns when nothing had to be done or when starting again failed.
void repair_openblas(char** argv);

/// Holds the core that OpenBLAS had chosen; its presence says that the program has been started again already.
inline constexpr const char* kRepairedVariable = "SCRM_OPENBLAS_REPAIRED_FROM";

/// The kernels that OpenBLAS had chosen before the repair; empty when there was none.
std::string openblas_core_before_repair();

}  // namespace scrm
