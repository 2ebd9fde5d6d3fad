// labels: fast io
#include "hdf5/buffer_pool.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

using namespace scrm;

namespace {

/// Where a buffer of so many bytes lies, after it is filled and given back.
std::byte* place_of(BufferPool& pool, std::size_t bytes) {
  const BufferPool::Buffer buffer = pool.take(bytes);
  std::memset(buffer.get(), 1, bytes);
  return buffer.get();
}

}  // namespace

TEST_CASE("buffer pool: chunks of nearly one size share a buffer, whichever comes first") {
  const auto pool = std::make_shared<BufferPool>();
  // Sizes of compressed chunks of one dataset, and one that ends with a huge page.
  for (const std::size_t bytes : {std::size_t{100'000}, std::size_t{4'650'000}, std::size_t{6} << 20}) {
    CAPTURE(bytes);
    std::byte* const place = place_of(*pool, bytes - 3'000);
    CHECK(place_of(*pool, bytes) == place);
    CHECK(place_of(*pool, bytes - 20'000) == place);
  }
}

TEST_CASE("buffer pool: a buffer in use is nobody else's, and one that is far too large stays back") {
  const auto pool = std::make_shared<BufferPool>();
  const std::size_t bytes = std::size_t{5} << 20;
  const BufferPool::Buffer held = pool->take(bytes);
  std::memset(held.get(), 7, bytes);
  std::byte* const other = place_of(*pool, bytes);
  CHECK(other != held.get());
  CHECK(held[0] == std::byte{7});
  CHECK(held[bytes - 1] == std::byte{7});
  CHECK(place_of(*pool, bytes / 4) != other);
  CHECK(place_of(*pool, bytes) == other);
}

TEST_CASE("buffer pool: large buffers begin with a huge page") {
  const auto pool = std::make_shared<BufferPool>();
  const BufferPool::Buffer large = pool->take((std::size_t{4} << 20) + 1);
  CHECK(reinterpret_cast<std::uintptr_t>(large.get()) % (std::size_t{2} << 20) == 0);
}

TEST_CASE("buffer pool: buffers outlive the name of their pool") {
  auto pool = std::make_shared<BufferPool>();
  const BufferPool::Buffer buffer = pool->take(200'000);
  pool.reset();
  std::memset(buffer.get(), 1, 200'000);
  CHECK(buffer[199'999] == std::byte{1});
}
