/// Kinds of confidence interval: their names, and when they hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace scrm {

enum class IntervalKind : std::uint8_t {
  automatic,
  normal,
  student,
  bernstein,
  bootstrap,
  cressie_read,
  clopper_pearson,
  sequence,
};

struct IntervalDefinition {
  IntervalKind kind;
  const char* name;   ///< on the command line and in JSON
  const char* holds;  ///< when it does, for help
};

std::span<const IntervalDefinition> all_intervals();
const IntervalDefinition& definition_of(IntervalKind kind);

/// Where every outcome is known to lie.
struct OutcomeRange {
  double low = 0, high = 0;
};

}  // namespace scrm
