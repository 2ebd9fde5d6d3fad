#include "report/version.hpp"

#include <fmt/format.h>

#include "cli/startup/openblas_repair.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/io/file/libraries.hpp"
#include "scrm/kernels/vector/isa.hpp"

namespace scrm {
namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

const char* version() noexcept {
  return SCRM_VERSION;
}

std::string version_text() {
  const std::string core = openblas_core();
  const std::string former = openblas_core_before_repair();
  std::string text = fmt::format("scrm {}\n", version());
  text += fmt::format("  compiler          {}\n", compiler());
  text += fmt::format("  instruction set   {}\n", active_isa());
  text += fmt::format("  oneTBB            {}\n", tbb_version());
  text += fmt::format("  HDF5              {}\n", hdf5_version());
  text += fmt::format("  OpenBLAS          {}, {} kernels{}\n", openblas_version(), core,
                      former.empty() || former == core ? "" : fmt::format(" (put right: it had chosen {})", former));
  return text;
}

}  // namespace scrm
