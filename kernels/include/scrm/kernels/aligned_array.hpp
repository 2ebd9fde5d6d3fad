/// AlignedArray: memory for the columns of a block.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "scrm/kernels/block.hpp"

namespace scrm {

struct FreeAligned {
  void operator()(void* memory) const noexcept { ::operator delete (memory, std::align_val_t{kColumnAlignment}); }
};

/// Numbers that begin at a multiple of kColumnAlignment.
template <class T>
using AlignedArray = std::unique_ptr<T[], FreeAligned>;

/// `count` numbers that hold nothing yet; no array for none.
template <class T>
AlignedArray<T> make_aligned_for_overwrite(std::size_t count) {
  static_assert(std::is_trivial_v<T>);
  if (count == 0) return nullptr;
  return AlignedArray<T>(static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kColumnAlignment})));
}

/// `count` zeros; no array for none.
template <class T>
AlignedArray<T> make_aligned(std::size_t count) {
  AlignedArray<T> array = make_aligned_for_overwrite<T>(count);
  if (array) std::memset(array.get(), 0, count * sizeof(T));
  return array;
}

}  // namespace scrm
