/// A sweep for programs: what came of it, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "scrm/experiments/sweep.hpp"

namespace scrm {

/// What a sweep's own report does not say.
struct SweepInvocation {
  std::string archive;
  std::string part;  ///< as in 3/64; empty: the whole sweep
  double seconds = 0, cpu_seconds = 0;
  int threads = 1;
};

/// The contract of `sweep --json`.
nlohmann::json sweep_json(const SweepReport& report, const SweepInvocation& invocation);

}  // namespace scrm
