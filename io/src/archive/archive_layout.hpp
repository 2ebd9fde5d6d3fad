/// What writing and reading a result archive share: names, the absent number, and what a run must look like.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "scrm/io/archive/run_record.hpp"

namespace scrm {

inline constexpr const char* kArchiveFormat = "scrm-results";
inline constexpr std::int64_t kArchiveVersion = 1;
inline constexpr const char* kExtraNumbers = "extra_numbers";
inline constexpr const char* kExtraCurves = "extra_curves";

/// Stands where a run has no such number or its curve has ended. To everyone else it is a NaN like any other; its bits
/// are none that arithmetic makes, so that a NaN which was measured reads back as one.
inline constexpr std::uint64_t kAbsentBits = 0x7ff8'6162'7365'6e74;

inline double absent() noexcept {
  return std::bit_cast<double>(kAbsentBits);
}
inline bool is_absent(double value) noexcept {
  return std::bit_cast<std::uint64_t>(value) == kAbsentBits;
}

/// Throws when an archive could not hold the run: its curves differ in length, or a column of its own has a name that
/// is taken or cannot be one. `file` is where it was to be written.
void validate_run(const RunRecord& run, const std::string& file);

}  // namespace scrm
