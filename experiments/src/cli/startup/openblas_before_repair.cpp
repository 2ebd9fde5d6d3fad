#include <cstdlib>

#include "cli/startup/openblas_repair.hpp"

// Apart from the repair, which also answers a question of OpenBLAS's: whoever asks this may have an OpenBLAS of his
// own.
namespace scrm {

std::string openblas_core_before_repair() {
  const char* former = std::getenv(kRepairedVariable);
  return former == nullptr ? "" : former;
}

}  // namespace scrm
