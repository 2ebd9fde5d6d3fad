/// FNV-1a, 64 bits: what tells data and options from others. Identities on disk are made of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scrm {

inline constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325;

/// The hash of what came before, gone on with these bytes.
inline std::uint64_t fnv_hash(const void* bytes, std::size_t count, std::uint64_t hash = kFnvBasis) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
  }
  return hash;
}

}  // namespace scrm
