/// Which instruction set the vector kernels run on: the best of the machine, or the one SCRM_ISA names.
#pragma once

#include <string_view>
#include <vector>

namespace scrm {

/// Name of the instruction set in use: "AVX3", "AVX2", "SSE4", "SCALAR", ...
const char* active_isa() noexcept;

/// Names that this machine can run and this build contains, best first.
std::vector<const char*> available_isas();

/// Makes every kernel run on the named set from now on (upper or lower case); an empty name returns to the best one.
/// False, and no change, when it is not available. For tests and bug reports; not while kernels are running.
bool force_isa(std::string_view name) noexcept;

/// False when the environment variable SCRM_ISA names a set that is not available (the best one is then in use).
bool environment_isa_is_valid() noexcept;

}  // namespace scrm
