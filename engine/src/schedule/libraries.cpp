#include "scrm/engine/schedule/libraries.hpp"

#include <cblas.h>
#include <fmt/format.h>
#include <tbb/version.h>

#include <algorithm>
#include <array>
#include <cctype>

// What OpenBLAS itself ends its threads with before a fork; not in its header, nor in builds without threads.
extern "C" int blas_thread_shutdown_() __attribute__((weak));

namespace scrm {
namespace {

enum class SimdLevel { sse, avx, avx2, avx512 };

struct CoreSimd {
  std::string_view name;
  SimdLevel level;
};

// The cores of OpenBLAS's run-time dispatch, by what their kernels use.
constexpr std::array kCores = {
    CoreSimd{"katmai", SimdLevel::sse},        CoreSimd{"coppermine", SimdLevel::sse},
    CoreSimd{"northwood", SimdLevel::sse},     CoreSimd{"prescott", SimdLevel::sse},
    CoreSimd{"banias", SimdLevel::sse},        CoreSimd{"core2", SimdLevel::sse},
    CoreSimd{"penryn", SimdLevel::sse},        CoreSimd{"dunnington", SimdLevel::sse},
    CoreSimd{"nehalem", SimdLevel::sse},       CoreSimd{"atom", SimdLevel::sse},
    CoreSimd{"nano", SimdLevel::sse},          CoreSimd{"athlon", SimdLevel::sse},
    CoreSimd{"opteron", SimdLevel::sse},       CoreSimd{"opteron_sse3", SimdLevel::sse},
    CoreSimd{"barcelona", SimdLevel::sse},     CoreSimd{"bobcat", SimdLevel::sse},
    CoreSimd{"sandybridge", SimdLevel::avx},   CoreSimd{"bulldozer", SimdLevel::avx},
    CoreSimd{"piledriver", SimdLevel::avx},    CoreSimd{"steamroller", SimdLevel::avx},
    CoreSimd{"excavator", SimdLevel::avx2},    CoreSimd{"haswell", SimdLevel::avx2},
    CoreSimd{"zen", SimdLevel::avx2},          CoreSimd{"skylakex", SimdLevel::avx512},
    CoreSimd{"cooperlake", SimdLevel::avx512}, CoreSimd{"sapphirerapids", SimdLevel::avx512},
};

}  // namespace

std::string tbb_version() {
  // 12080 is interface 12.8, released as 2021.8.
  const int interface = TBB_runtime_interface_version();
  return fmt::format("{}.{} (interface {})", 2009 + interface / 1000, interface % 1000 / 10, interface);
}

std::string openblas_version() {
  // "OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY ..."
  const std::string config = openblas_get_config();
  const std::size_t begin = config.find(' ') + 1;
  return config.substr(begin, config.find(' ', begin) - begin);
}

std::string openblas_core() {
  return openblas_get_corename();
}

void limit_openblas_to_one_thread() noexcept {
  openblas_set_num_threads(1);
  if (blas_thread_shutdown_ != nullptr) blas_thread_shutdown_();
}

CpuFeatures cpu_features() noexcept {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  features.avx2_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  features.amd = __builtin_cpu_is("amd");
#endif
  return features;
}

std::optional<std::string> better_openblas_core(std::string_view core, const CpuFeatures& cpu) {
  std::string name(core);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto known = std::find_if(kCores.begin(), kCores.end(), [&](const CoreSimd& c) { return c.name == name; });
  if (known == kCores.end()) return std::nullopt;
  if (cpu.avx512 && known->level < SimdLevel::avx512) return "SkylakeX";
  if (cpu.avx2_fma && known->level < SimdLevel::avx2) return cpu.amd ? "Zen" : "Haswell";
  return std::nullopt;
}

}  // namespace scrm
