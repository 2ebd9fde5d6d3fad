/// The designs that no rule was looked at on before it was fixed: what people log, of every kind, in other proportions.
#pragma once

#include <vector>

#include "study/designs/design.hpp"

namespace scrm {

std::vector<StudyDesign> make_unseen_designs();

}  // namespace scrm
