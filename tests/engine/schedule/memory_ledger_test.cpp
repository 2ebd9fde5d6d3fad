// labels: fast
#include "scrm/engine/schedule/memory_ledger.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;

TEST_CASE("memory ledger: what is charged is no longer there, and no limit stays no limit") {
  MemoryLedger ledger(10 * kMega);
  CHECK(ledger.left() == 10 * kMega);
  ledger.charge(4 * kMega, "rows");
  CHECK(ledger.left() == 6 * kMega);
  CHECK(ledger.fits(6 * kMega));
  CHECK(!ledger.fits(6 * kMega + 1));
  ledger.charge(6 * kMega, "sums");
  CHECK(ledger.left() == 1);  // zero would mean that there is no limit

  MemoryLedger endless(0);
  endless.charge(kMega * kMega, "anything");
  CHECK(endless.left() == 0);
  CHECK(endless.fits(kMega * kMega));
}

TEST_CASE("memory ledger: a charge that does not fit says what needs how much, and takes nothing") {
  MemoryLedger ledger(10 * kMega);
  try {
    ledger.charge(11 * kMega, "a bootstrap", "fewer --replicates");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::memory);
    CHECK(std::string(error.what()) ==
          "a bootstrap needs 11.0 MiB and the memory budget leaves 10.0 MiB; give a larger --memory, or fewer "
          "--replicates");
  }
  CHECK(ledger.left() == 10 * kMega);
}

TEST_CASE("memory ledger: what the process holds is gone from its budget, and comes back when it is freed") {
  const std::size_t budget = resident_bytes() + 200 * kMega;
  const std::size_t before = MemoryLedger::of_process(budget).left();
  CHECK(before < 200 * kMega);
  std::vector<char> held(64 * kMega, 'x');
  const std::size_t beside = MemoryLedger::of_process(budget).left();
  CHECK(beside <= before - 60 * kMega);
  held = std::vector<char>();
#if !defined(__SANITIZE_ADDRESS__)  // which keeps what is freed for a while
  CHECK(MemoryLedger::of_process(budget).left() >= beside + 60 * kMega);
#endif
  CHECK(MemoryLedger::of_process(1).left() == 1);
  CHECK(MemoryLedger::of_process(0).left() == 0);
}

}  // namespace
}  // namespace scrm
