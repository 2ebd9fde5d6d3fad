#include "cli/startup/openblas_repair.hpp"

#include <unistd.h>

#include <cstdlib>

#include "scrm/engine/schedule/libraries.hpp"

/// OpenBLAS asks itself this when it is loaded, before main, and makes a thread for every processor but one; where that
/// is refused it interrupts the process. It finds the executable's answer before its own: one, hence no threads.
extern "C" int get_num_procs() {
  return 1;
}

namespace scrm {

void repair_openblas(char** argv) {
  limit_openblas_to_one_thread();
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr || std::getenv(kRepairedVariable) != nullptr) return;
  const std::string core = openblas_core();
  const auto better = better_openblas_core(core, cpu_features());
  if (!better) return;
  setenv("OPENBLAS_CORETYPE", better->c_str(), 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  setenv(kRepairedVariable, core.c_str(), 1);
  execv("/proc/self/exe", argv);
  // Slower kernels are no reason to stop: go on as we are.
  unsetenv("OPENBLAS_CORETYPE");
  unsetenv(kRepairedVariable);
}

}  // namespace scrm
