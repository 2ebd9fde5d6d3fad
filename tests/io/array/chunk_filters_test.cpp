// labels: fast io
#include "array/chunk_filters.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using namespace scrm;

TEST_CASE("any part of what the shuffle filter took apart is put together again") {
  for (const std::size_t size : {2, 4, 8, 3}) {
    constexpr std::size_t kCount = 75;  // vectors of sixteen, and some more
    std::vector<std::byte> numbers(kCount * size), planes(kCount * size);
    for (std::size_t i = 0; i < kCount; ++i) {
      for (std::size_t k = 0; k < size; ++k) {
        numbers[i * size + k] = static_cast<std::byte>(31 * i + 7 * k);
        planes[k * kCount + i] = numbers[i * size + k];
      }
    }
    for (std::size_t first = 0; first < kCount; first += 5) {
      for (std::size_t count = 0; first + count <= kCount; count += 7) {
        CAPTURE(size);
        CAPTURE(first);
        CAPTURE(count);
        std::vector<std::byte> part(count * size + 1, std::byte{0xEE});
        unshuffle({planes.data(), kCount, size}, first, count, part.data());
        CHECK(std::memcmp(part.data(), numbers.data() + first * size, count * size) == 0);
        CHECK(part.back() == std::byte{0xEE});
      }
    }
  }
}
