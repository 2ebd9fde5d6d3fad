/// Ranks over MPI. The only header of which the implementation knows MPI; linked into scrm-mpi alone.
#pragma once

#include <memory>

#include "scrm/engine/ranks/ranks.hpp"

namespace scrm {

/// Starts MPI, which ends with the object. Once a process.
std::unique_ptr<Ranks> start_mpi_ranks();

}  // namespace scrm
