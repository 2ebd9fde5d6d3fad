#include "scrm/engine/memory_ledger.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "scrm/engine/human_bytes.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

// Pages of code and tables that are touched for the first time later on, small lists, and what the system's own count,
// which lags behind by some pages a core, leaves out. Measured at 2 to 4 MiB.
constexpr std::size_t kReserveBytes = std::size_t{6} << 20;

}  // namespace

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

MemoryLedger MemoryLedger::of_process(std::size_t bytes) {
  MemoryLedger ledger(bytes);
  if (bytes == 0) return ledger;
  // What was freed and not given back would be counted although it can be used again.
  malloc_trim(0);
  ledger.charged_ = std::min(bytes, resident_bytes() + kReserveBytes);
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
