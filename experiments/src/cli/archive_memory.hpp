/// What archives of sweeps take in memory.
#pragma once

#include <string>

#include "scrm/engine/schedule/memory_ledger.hpp"

namespace scrm {

/// Charges what reading an archive, and making tables or another archive of it, takes; `what` names it in the Error.
void charge_archive(const std::string& path, MemoryLedger& ledger, const std::string& what = "the archive");

}  // namespace scrm
