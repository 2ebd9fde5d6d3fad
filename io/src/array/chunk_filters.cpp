#include "array/chunk_filters.hpp"

#include <libdeflate.h>

#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace scrm {
namespace {

// Measured on 4 million shuffled normal doubles: level 4 leaves 87.7 % of the bytes, level 6 takes a third more time
// for no gain, level 1 saves a third of the time and leaves 88.1 %.
constexpr int kDeflateLevel = 4;

/// What `make` made for this thread: libdeflate's tables are large to set up and may serve one call at a time.
template <auto kFree, class Make>
auto* one_per_thread(const Make& make) {
  using Type = std::remove_pointer_t<decltype(make())>;
  struct Free {
    void operator()(Type* pointer) const noexcept { kFree(pointer); }
  };
  thread_local std::unique_ptr<Type, Free> instance;
  if (!instance) instance.reset(make());
  if (!instance) throw std::bad_alloc();
  return instance.get();
}

/// Byte k of every element goes to plane k, as HDF5's shuffle filter lays them out.
template <std::size_t Size>
void shuffle(const std::byte* source, std::size_t elements, std::byte* out) noexcept {
  for (std::size_t i = 0; i < elements; ++i)
    for (std::size_t k = 0; k < Size; ++k) out[k * elements + i] = source[i * Size + k];
}

std::vector<std::byte> deflated(const std::vector<std::byte>& bytes) {
  libdeflate_compressor* const compressor =
      one_per_thread<&libdeflate_free_compressor>([] { return libdeflate_alloc_compressor(kDeflateLevel); });
  std::vector<std::byte> out(libdeflate_zlib_compress_bound(compressor, bytes.size()));
  out.resize(libdeflate_zlib_compress(compressor, bytes.data(), bytes.size(), out.data(), out.size()));
  return out;
}

using Bytes16 = std::uint8_t __attribute__((vector_size(16)));

Bytes16 load16(const std::byte* from) noexcept {
  Bytes16 bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

Bytes16 zip_low(Bytes16 a, Bytes16 b) noexcept {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

Bytes16 zip_high(Bytes16 a, Bytes16 b) noexcept {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Sixteen numbers at a time: log2(kSize) rounds, each pairing plane k with plane k + kSize / 2, leave the bytes of
/// every number side by side. Planes lie `apart` bytes apart. Returns how many numbers were done.
template <std::size_t kSize>
std::size_t unshuffle_vectors(const std::byte* from, std::size_t apart, std::size_t count, std::byte* to) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    Bytes16 planes[kSize];
    for (std::size_t k = 0; k < kSize; ++k) planes[k] = load16(from + k * apart + i);
    for (std::size_t round = 1; round < kSize; round *= 2) {
      Bytes16 next[kSize];
      for (std::size_t k = 0; k < kSize / 2; ++k) {
        next[2 * k] = zip_low(planes[k], planes[k + kSize / 2]);
        next[2 * k + 1] = zip_high(planes[k], planes[k + kSize / 2]);
      }
      for (std::size_t k = 0; k < kSize; ++k) planes[k] = next[k];
    }
    for (std::size_t k = 0; k < kSize; ++k) std::memcpy(to + i * kSize + 16 * k, &planes[k], 16);
  }
  return i;
}

}  // namespace

void pack_chunk(std::vector<std::byte>& bytes, Element element, std::int64_t chunk_elements, bool gzip) {
  const auto elements = static_cast<std::size_t>(chunk_elements);
  bytes.resize(elements * element_size(element));
  if (!gzip) return;
  std::vector<std::byte> shuffled(element_size(element) > 1 ? bytes.size() : 0);
  if (element_size(element) == 4) shuffle<4>(bytes.data(), elements, shuffled.data());
  if (element_size(element) == 8) shuffle<8>(bytes.data(), elements, shuffled.data());
  bytes = deflated(shuffled.empty() ? bytes : shuffled);
}

void unshuffle(const BytePlanes& planes, std::size_t first, std::size_t count, std::byte* to) noexcept {
  const std::byte* from = planes.bytes + first;
  std::size_t done = 0;
  if (planes.size == 8) {
    done = unshuffle_vectors<8>(from, planes.count, count, to);
  } else if (planes.size == 4) {
    done = unshuffle_vectors<4>(from, planes.count, count, to);
  } else if (planes.size == 2) {
    done = unshuffle_vectors<2>(from, planes.count, count, to);
  }
  for (std::size_t i = done; i < count; ++i) {
    for (std::size_t k = 0; k < planes.size; ++k) to[i * planes.size + k] = from[k * planes.count + i];
  }
}

bool inflate(const std::byte* from, std::size_t length, std::byte* to, std::size_t size) {
  auto* const decompressor =
      one_per_thread<&libdeflate_free_decompressor>([] { return libdeflate_alloc_decompressor(); });
  std::size_t actual = 0;
  return libdeflate_zlib_decompress(decompressor, from, length, to, size, &actual) == LIBDEFLATE_SUCCESS &&
         actual == size;
}

}  // namespace scrm
