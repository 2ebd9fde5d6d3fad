/// Mutations of inputs, fixed by their seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace scrm::fuzzing {

/// splitmix64: enough for choosing what to damage.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  /// In [0, bound); 0 where that is empty.
  std::size_t below(std::size_t bound) noexcept { return bound == 0 ? 0 : next() % bound; }

 private:
  std::uint64_t state_;
};

/// One of the inputs with one to eight changes: bits flipped, bytes and integers overwritten, pieces cut, doubled,
/// inserted or taken from another input.
std::string mutate(const std::vector<std::string>& inputs, Random& random);

}  // namespace scrm::fuzzing
