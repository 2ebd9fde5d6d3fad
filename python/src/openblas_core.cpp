#include "openblas_core.hpp"

#include <cstdlib>
#include <cstring>

#include "scrm/engine/schedule/libraries.hpp"

#if defined(SCRM_PRIVATE_OPENBLAS)

// The copy of OpenBLAS inside this module is linked with --wrap=getenv: it asks here. So it learns which kernels to
// use, and that it is to start no threads, while the environment stays what it is.
namespace {
const char* preferred_core = nullptr;
}  // namespace

extern "C" {

char* __real_getenv(const char* name);
void gotoblas_dynamic_init();
void gotoblas_dynamic_quit();

char* __wrap_getenv(const char* name) {
  static char one[] = "1";
  if (std::strcmp(name, "OPENBLAS_NUM_THREADS") == 0) return one;
  if (preferred_core != nullptr && std::strcmp(name, "OPENBLAS_CORETYPE") == 0)
    return const_cast<char*>(preferred_core);
  return __real_getenv(name);
}
}

namespace scrm::python {

std::string choose_openblas_core() {
  static std::string better;
  const std::string found = openblas_core();
  if (__real_getenv("OPENBLAS_CORETYPE") == nullptr) better = better_openblas_core(found, cpu_features()).value_or("");
  if (better.empty()) return "";
  preferred_core = better.c_str();
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  return found;
}

bool openblas_is_private() {
  return true;
}

}  // namespace scrm::python

#else

namespace scrm::python {

// Somebody else may use this OpenBLAS too: it is left as it is.
std::string choose_openblas_core() {
  return "";
}

bool openblas_is_private() {
  return false;
}

}  // namespace scrm::python

#endif
