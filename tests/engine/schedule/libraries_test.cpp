// labels: fast
#include "scrm/engine/schedule/libraries.hpp"

#include <doctest/doctest.h>

#include <cctype>

using namespace scrm;

TEST_CASE("openblas: kernels weaker than the processor are replaced by the best it can run") {
  const CpuFeatures skylake_server{.avx2_fma = true, .avx512 = true, .amd = false};
  const CpuFeatures desktop{.avx2_fma = true, .avx512 = false, .amd = false};
  const CpuFeatures zen3{.avx2_fma = true, .avx512 = false, .amd = true};
  CHECK(better_openblas_core("Prescott", skylake_server) == "SkylakeX");
  CHECK(better_openblas_core("Haswell", skylake_server) == "SkylakeX");
  CHECK(better_openblas_core("Prescott", desktop) == "Haswell");
  CHECK(better_openblas_core("Sandybridge", desktop) == "Haswell");
  CHECK(better_openblas_core("NEHALEM", zen3) == "Zen");
}

TEST_CASE("openblas: a choice that is as good as the processor stays") {
  CHECK(!better_openblas_core("SkylakeX", {true, true, false}));
  CHECK(!better_openblas_core("Cooperlake", {true, true, false}));
  CHECK(!better_openblas_core("SapphireRapids", {true, true, false}));
  CHECK(!better_openblas_core("Haswell", {true, false, false}));
  CHECK(!better_openblas_core("Zen", {true, false, true}));
  CHECK(!better_openblas_core("Prescott", {false, false, false}));
}

TEST_CASE("openblas: a name nobody knows is left alone") {
  CHECK(!better_openblas_core("", {true, true, false}));
  CHECK(!better_openblas_core("Unheardof", {true, true, false}));
}

TEST_CASE("libraries: versions begin with a digit and the core has a name") {
  CHECK(std::isdigit(static_cast<unsigned char>(tbb_version().at(0))) != 0);
  CHECK(std::isdigit(static_cast<unsigned char>(openblas_version().at(0))) != 0);
  CHECK(!openblas_core().empty());
}
