/// MemoryLedger: what is still to be had of a memory budget. Whatever grows with the data, the options or the threads
/// is charged to one before it is taken.
#pragma once

#include <cstddef>
#include <string>

namespace scrm {

class Source;
struct PassOptions;

/// What a thread beyond the first adds to the resident set: its stack, its first allocations, TBB's tables. Measured.
inline constexpr std::size_t kThreadBytes = std::size_t{384} << 10;

/// A plain value. Each level of the work makes one from the bytes that it was given, charges what it is going to hold
/// and hands the rest on, as PassOptions::memory: so nothing is counted twice, and runs beside each other share
/// nothing.
class MemoryLedger {
 public:
  /// 0 bytes: no limit.
  explicit MemoryLedger(std::size_t bytes) noexcept : limited_(bytes > 0), budget_(bytes) {}

  /// A budget for the resident set of this process, of which what it holds by now is gone, and a reserve for code and
  /// runtime that were not needed so far. Tells the allocator to keep little of what is freed where the budget is
  /// small. 0 bytes: no limit.
  static MemoryLedger of_process(std::size_t bytes);
  /// The same for a part of the process: what was in memory before it began is not counted, and the allocator, which
  /// others use too, is left as it is.
  static MemoryLedger beyond(std::size_t held_before, std::size_t bytes);

  /// Bytes that can still be taken, as PassOptions::memory has them: 0 where there is no limit, else at least 1.
  std::size_t left() const noexcept;
  bool fits(std::size_t bytes) const noexcept { return !limited_ || bytes <= budget_ - charged_; }
  /// Takes the bytes, or throws an Error of kind memory: how much `what` needs, how much is left, and `help`, which
  /// completes "give a larger --memory".
  void charge(std::size_t bytes, const std::string& what, const std::string& help = {});

 private:
  bool limited_;
  std::size_t budget_;
  std::size_t charged_ = 0;
};

/// Throws the Error of a charge that does not fit: `what` needs `needed` bytes of which `left` are there.
[[noreturn]] void refuse_memory(std::size_t needed, std::size_t left, const std::string& what, const std::string& help);

/// Throws an Error of kind memory where a pass over the source, however little it adds up, does not fit: to be asked
/// before long work that ends in one. `help` as for a charge.
void require_pass_fits(const Source& source, const PassOptions& options, const char* help);

/// Bytes of this process that are in memory now.
std::size_t resident_bytes();

}  // namespace scrm
