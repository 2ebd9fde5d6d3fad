/// The filters of a chunk: HDF5's shuffle and deflate, written and read without HDF5, on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "array/element.hpp"

namespace scrm {

/// Turns plain values into the bytes of a chunk of `chunk_elements` elements: padded with zeros and, with gzip,
/// shuffled and deflated.
void pack_chunk(std::vector<std::byte>& bytes, Element element, std::int64_t chunk_elements, bool gzip);

/// Bytes that HDF5's shuffle filter took apart: the first byte of every number, then the second of every number, and so
/// on.
struct BytePlanes {
  const std::byte* bytes;
  std::size_t count;  ///< of numbers
  std::size_t size;   ///< of a number
};

/// Puts the numbers [first, first + count) together again.
void unshuffle(const BytePlanes& planes, std::size_t first, std::size_t count, std::byte* to) noexcept;

/// Inflates a chunk; false when that does not give exactly `size` bytes.
bool inflate(const std::byte* from, std::size_t length, std::byte* to, std::size_t size);

}  // namespace scrm
