/// AlignedArray: memory for the columns of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// Aligned memory from plain allocations, whose own address stands in front of it. The C library's aligned ones cut
/// pieces off the heap that it does not put together again: arrays that come and go between small things that stay grew
/// it without bounds.
struct FreeAligned {
  void operator()(void* memory) const noexcept { ::operator delete(static_cast<void**>(memory)[-1]); }
};

inline void* allocate_aligned(std::size_t bytes) {
  static_assert(kColumnAlignment >= 2 * sizeof(void*) && __STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*));
  auto* const whole = static_cast<std::byte*>(::operator new(bytes + kColumnAlignment));
  // At least as far from the beginning as plain allocations are aligned, which leaves room for an address.
  std::byte* const aligned = whole + (kColumnAlignment - reinterpret_cast<std::uintptr_t>(whole) % kColumnAlignment);
  reinterpret_cast<void**>(aligned)[-1] = whole;
  return aligned;
}

/// Numbers that begin at a multiple of kColumnAlignment.
template <class T>
using AlignedArray = std::unique_ptr<T[], FreeAligned>;

/// `count` numbers that hold nothing yet; no array for none.
template <class T>
AlignedArray<T> make_aligned_for_overwrite(std::size_t count) {
  static_assert(std::is_trivial_v<T>);
  if (count == 0) return nullptr;
  return AlignedArray<T>(static_cast<T*>(allocate_aligned(count * sizeof(T))));
}

/// `count` zeros; no array for none.
template <class T>
AlignedArray<T> make_aligned(std::size_t count) {
  AlignedArray<T> array = make_aligned_for_overwrite<T>(count);
  if (array) std::memset(array.get(), 0, count * sizeof(T));
  return array;
}

}  // namespace scrm
