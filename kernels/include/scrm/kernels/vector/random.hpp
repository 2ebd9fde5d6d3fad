/// Counter-based random streams: what a draw is depends only on its key, never on when or where it is drawn.
#pragma once

#include <array>
#include <cstdint>

namespace scrm {

/// A stream of Philox4x32-10 keyed by (seed, stream, row): the same key gives the same numbers on any thread, in any
/// order. `stream` tells apart the purposes that draw for one row (context, action, loss, bootstrap, ...).
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint32_t stream, std::uint64_t row) noexcept;

  /// 64 random bits.
  std::uint64_t bits() noexcept;
  /// Uniform on the open interval (0, 1), 53 bits.
  double uniform() noexcept;
  /// Standard normal (Box–Muller; draws come in pairs and the second is kept).
  double normal() noexcept;

 private:
  void refill() noexcept;

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> buffer_{};
  int used_ = 4;  // words of buffer_ already given out
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace scrm
