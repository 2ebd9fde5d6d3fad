/// StudyOptions: what all studies are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "study/designs/design.hpp"

namespace scrm {

struct StudyOptions {
  std::vector<const StudyDesign*> designs;
  std::vector<std::int64_t> rows = {};  ///< empty: those of each design
  std::int64_t logs = 200;              ///< of each design and size
  std::uint64_t seed = 0;
  int threads = 0;         ///< logs at a time; 0: all cores
  std::size_t memory = 0;  ///< bytes for all logs that are held at a time; 0: no limit
  Progress progress = {};  ///< in rows drawn
};

}  // namespace scrm
