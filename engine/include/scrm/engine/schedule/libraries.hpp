/// Versions of the libraries that only engine/ sees, and OpenBLAS's choice of kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace scrm {

/// "2021.8", of the library that is loaded.
std::string tbb_version();
/// "0.3.21".
std::string openblas_version();
/// The kernels OpenBLAS uses: "Haswell", "Zen", "SkylakeX", ...
std::string openblas_core();
/// TBB owns the cores: BLAS calls run on the thread that makes them.
void limit_openblas_to_one_thread() noexcept;

/// What the processor can do, as far as OpenBLAS's kernels differ by it.
struct CpuFeatures {
  bool avx2_fma = false;
  bool avx512 = false;  ///< F, DQ, BW and VL
  bool amd = false;
};
CpuFeatures cpu_features() noexcept;

/// The value of OPENBLAS_CORETYPE that suits the processor when OpenBLAS chose weaker kernels; nothing when its choice
/// is as good, or when the name is not known.
std::optional<std::string> better_openblas_core(std::string_view core, const CpuFeatures& cpu);

}  // namespace scrm
