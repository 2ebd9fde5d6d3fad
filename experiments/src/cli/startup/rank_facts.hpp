/// What must be the same on every rank for their results to be: the program, the processor's kernels, the inputs.
#pragma once

#include <string>
#include <vector>

#include "scrm/engine/ranks/agreement.hpp"

namespace scrm {

/// Files and folders among the arguments are known by their sizes and by how they begin and end: copies on the
/// machines' own discs are as good as a shared file system.
std::vector<RankFact> rank_facts(const std::vector<std::string>& arguments);

}  // namespace scrm
