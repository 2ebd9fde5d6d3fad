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

/// Puts the byte planes of HDF5's shuffle filter together again: `count` numbers of `size` bytes and what is left over
/// at the end of `bytes`.
void unshuffle(const std::byte* from, std::byte* to, std::size_t bytes, std::size_t size) noexcept;

/// Inflates a chunk; false when that does not give exactly `size` bytes.
bool inflate(const std::byte* from, std::size_t length, std::byte* to, std::size_t size);

}  // namespace scrm
