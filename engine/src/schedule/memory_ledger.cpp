#include "scrm/engine/schedule/memory_ledger.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "scrm/engine/schedule/human_bytes.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Pages of code and tables that are touched for the first time later on, small lists, and what the system's own count,
// which lags behind by some pages a core, leaves out. Measured at 2 to 4 MiB.
constexpr std::size_t kReserveBytes = std::size_t{6} << 20;

/// Memory that is freed is kept for the next allocation, by default up to 64 MiB a thread, and pieces of it that do not
/// fit are no use to anyone. In a small budget it goes back to the system instead.
void limit_retained_memory(std::size_t budget) {
  constexpr std::size_t kLeast = std::size_t{256} << 10, kMost = std::size_t{32} << 20, kShare = 64;
  const std::size_t piece = std::clamp(budget / kShare, kLeast, kMost);
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(piece));
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(2 * piece));
  // Threads that share an arena use what others have freed.
  constexpr std::size_t kArenaBytes = std::size_t{64} << 20, kMostArenas = 1024;
  mallopt(M_ARENA_MAX, static_cast<int>(std::clamp<std::size_t>(budget / kArenaBytes, 1, kMostArenas)));
}

}  // namespace

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

MemoryLedger MemoryLedger::of_process(std::size_t bytes) {
  MemoryLedger ledger(bytes);
  if (bytes == 0) return ledger;
  limit_retained_memory(bytes);
  // What was freed and not given back would be counted although it can be used again.
  malloc_trim(0);
  ledger.charged_ = std::min(bytes, resident_bytes() + kReserveBytes);
  return ledger;
}

MemoryLedger MemoryLedger::beyond(std::size_t held_before, std::size_t bytes) {
  MemoryLedger ledger(bytes);
  const std::size_t now = resident_bytes();
  ledger.charged_ = std::min(bytes, now - std::min(now, held_before) + kReserveBytes);
  return ledger;
}

std::size_t MemoryLedger::left() const noexcept {
  return limited_ ? std::max<std::size_t>(1, budget_ - charged_) : 0;
}

void MemoryLedger::charge(std::size_t bytes, const std::string& what, const std::string& help) {
  if (!fits(bytes)) refuse_memory(bytes, budget_ - charged_, what, help);
  charged_ += bytes;
}

void refuse_memory(std::size_t needed, std::size_t left, const std::string& what, const std::string& help) {
  throw Error(ErrorKind::memory,
              fmt::format("{} needs {} and the memory budget leaves {}; give a larger --memory{}{}", what,
                          human_bytes(static_cast<double>(needed)), human_bytes(static_cast<double>(left)),
                          help.empty() ? "" : ", or ", help));
}

}  // namespace scrm
