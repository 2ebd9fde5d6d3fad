/// Element: the number types that are decoded without HDF5's help, all in the machine's own byte order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scrm {

enum class Element : std::uint8_t { i8, i16, i32, i64, u8, u16, u32, u64, f32, f64 };

/// Calls `function` with a zero of the type that `element` names.
template <class Function>
auto visit_element(Element element, Function&& function) {
  switch (element) {
    case Element::i8:
      return function(std::int8_t{});
    case Element::i16:
      return function(std::int16_t{});
    case Element::i32:
      return function(std::int32_t{});
    case Element::i64:
      return function(std::int64_t{});
    case Element::u8:
      return function(std::uint8_t{});
    case Element::u16:
      return function(std::uint16_t{});
    case Element::u32:
      return function(std::uint32_t{});
    case Element::u64:
      return function(std::uint64_t{});
    case Element::f32:
      return function(float{});
    case Element::f64:
      break;
  }
  return function(double{});
}

inline std::size_t element_size(Element element) noexcept {
  return visit_element(element, [](auto zero) { return sizeof(zero); });
}

inline bool is_float(Element element) noexcept {
  return element == Element::f32 || element == Element::f64;
}

}  // namespace scrm
