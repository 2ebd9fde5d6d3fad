/// Designs beyond those that README shows: on them the rule of the default interval was found, and can be tried again.
#pragma once

#include <vector>

#include "study/designs/design.hpp"

namespace scrm {

std::vector<StudyDesign> make_further_designs();

}  // namespace scrm
