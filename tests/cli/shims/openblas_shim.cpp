// Preloaded before the program: an OpenBLAS that does not know the processor, until OPENBLAS_CORETYPE tells it.
#include <cstdlib>

extern "C" const char* openblas_get_corename() {
  const char* told = std::getenv("OPENBLAS_CORETYPE");
  return told != nullptr && std::getenv("SCRM_SHIM_IS_DEAF") == nullptr ? told : "Prescott";
}
