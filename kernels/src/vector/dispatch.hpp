/// Run-time choice of the instruction set, made before the first kernel runs.
#pragma once

#include "scrm/kernels/vector/isa.hpp"

namespace scrm {

/// Called first by every dispatched kernel: obeys SCRM_ISA the first time and costs one test afterwards.
inline void ensure_isa() noexcept {
  (void)environment_isa_is_valid();
}

}  // namespace scrm
