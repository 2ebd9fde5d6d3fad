/// The designs that were drawn up after the rule of the default interval was found, to see whether it holds elsewhere.
#pragma once

#include <vector>

#include "study/designs/design.hpp"

namespace scrm {

std::vector<StudyDesign> make_later_designs();

}  // namespace scrm
