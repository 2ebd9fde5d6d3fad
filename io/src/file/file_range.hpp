/// FileRange: consecutive bytes of an open file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "file/descriptor.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

struct FileRange {
  /// Asks the system to start reading from disk, unless the range is in its cache already.
  FileRange(std::shared_ptr<const Descriptor> in, std::uint64_t first, std::size_t bytes, Place what);

  std::uint64_t id;  ///< no other range has it, now or later
  std::shared_ptr<const Descriptor> file;
  std::uint64_t offset;
  std::size_t length;
  Place place;  ///< for errors
};

inline constexpr std::size_t kPageBytes = 4096;

/// The first address from `memory` on, of which kPageBytes more than needed are there, that has the same place in its
/// page as `offset` has in the file's. Some processors copy five times slower to an address that lies a few bytes
/// further into a page than the source does.
inline std::byte* same_place_in_page(std::byte* memory, std::uint64_t offset) noexcept {
  return memory + (offset - reinterpret_cast<std::uintptr_t>(memory)) % kPageBytes;
}

}  // namespace scrm
