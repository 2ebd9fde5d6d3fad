/// exchange: every rank brings something, rank 0 puts it together, every rank gets the result.
#pragma once

#include <functional>
#include <optional>

#include "scrm/engine/ranks/agreement.hpp"
#include "scrm/engine/ranks/ranks.hpp"

namespace scrm {

/// Called on every rank; each may throw, which all ranks then do. Messages climb a binary tree of ranks, so that the
/// first rank hears from a few others however many there are.
struct ExchangeSteps {
  /// Writes what this rank has, that of the ranks it has heard from included.
  std::function<void(ByteStream&)> contribute;
  /// Reads what the next ranks have: those that follow directly on what is here already.
  std::function<void(ByteStream&)> absorb;
  /// Writes the result on rank 0, and reads it on the others.
  std::function<void(ByteStream&)> result;
};

/// Throws the Error of the first rank that failed: before, as `own` says, or in one of the steps.
void exchange(Ranks& ranks, const ExchangeSteps& steps, std::optional<Failure> own = {});

}  // namespace scrm
