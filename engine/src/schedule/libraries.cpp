#include "scrm/engine/libraries.hpp"

#include <cblas.h>
#include <fmt/format.h>
#include <tbb/version.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace scrm {
namespace {

enum class Strength { sse, avx, avx2, avx512 };

struct CoreStrength {
  std::string_view name;
  Strength strength;
};

// The cores of OpenBLAS's run-time dispatch, by what their kernels use.
constexpr std::array kCores = {
    CoreStrength{"katmai", Strength::sse},        CoreStrength{"coppermine", Strength::sse},
    CoreStrength{"northwood", Strength::sse},     CoreStrength{"prescott", Strength::sse},
    CoreStrength{"banias", Strength::sse},        CoreStrength{"core2", Strength::sse},
    CoreStrength{"penryn", Strength::sse},        CoreStrength{"dunnington", Strength::sse},
    CoreStrength{"nehalem", Strength::sse},       CoreStrength{"atom", Strength::sse},
    CoreStrength{"nano", Strength::sse},          CoreStrength{"athlon", Strength::sse},
    CoreStrength{"opteron", Strength::sse},       CoreStrength{"opteron_sse3", Strength::sse},
    CoreStrength{"barcelona", Strength::sse},     CoreStrength{"bobcat", Strength::sse},
    CoreStrength{"sandybridge", Strength::avx},   CoreStrength{"bulldozer", Strength::avx},
    CoreStrength{"piledriver", Strength::avx},    CoreStrength{"steamroller", Strength::avx},
    CoreStrength{"excavator", Strength::avx2},    CoreStrength{"haswell", Strength::avx2},
    CoreStrength{"zen", Strength::avx2},          CoreStrength{"skylakex", Strength::avx512},
    CoreStrength{"cooperlake", Strength::avx512}, CoreStrength{"sapphirerapids", Strength::avx512},
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
  const auto known = std::find_if(kCores.begin(), kCores.end(), [&](const CoreStrength& c) { return c.name == name; });
  if (known == kCores.end()) return std::nullopt;
  if (cpu.avx512 && known->strength < Strength::avx512) return "SkylakeX";
  if (cpu.avx2_fma && known->strength < Strength::avx2) return cpu.amd ? "Zen" : "Haswell";
  return std::nullopt;
}

}  // namespace scrm
