/// Fields of plain data as bytes one behind the other, the same on every machine: for journals, seals and other
/// processes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace scrm {

/// Appends a number in little-endian order.
template <class T>
void put_number(std::string& out, T value) {
  for (unsigned shift = 0; shift < 8 * sizeof value; shift += 8) out += static_cast<char>((value >> shift) & 0xFF);
}

/// The number at the beginning of `bytes`, which must be long enough.
template <class T>
T get_number(std::string_view bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i));
  return value;
}

inline void put_u32(std::string& out, std::uint32_t value) {
  put_number(out, value);
}
inline void put_u64(std::string& out, std::uint64_t value) {
  put_number(out, value);
}
inline std::uint32_t get_u32(std::string_view bytes) {
  return get_number<std::uint32_t>(bytes);
}
inline std::uint64_t get_u64(std::string_view bytes) {
  return get_number<std::uint64_t>(bytes);
}

/// Fields one behind the other; lists and texts begin with their length.
class FieldWriter {
 public:
  void field(const std::string& text) {
    put_u64(bytes, text.size());
    bytes += text;
  }
  void field(bool value) { bytes += value ? '\1' : '\0'; }
  void field(double value) { put_u64(bytes, std::bit_cast<std::uint64_t>(value)); }
  void field(std::int64_t value) { put_u64(bytes, static_cast<std::uint64_t>(value)); }
  template <class T>
  void field(const std::vector<T>& values) {
    put_u64(bytes, values.size());
    for (const T& value : values) field(value);
  }
  template <class T>
  void field(const std::map<std::string, T>& values) {
    put_u64(bytes, values.size());
    for (const auto& [key, value] : values) {
      field(key);
      field(value);
    }
  }

  std::string bytes;
};

/// The same in reverse. Once something does not fit, everything else reads as empty and good() is false.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_(bytes) {}

  /// Everything fitted and nothing is left.
  bool good() const { return good_ && bytes_.empty(); }

  void field(std::string& text) { text = take(count(1)); }
  void field(bool& value) {
    const std::string_view byte = take(1);
    value = !byte.empty() && byte[0] != '\0';
  }
  void field(double& value) { value = std::bit_cast<double>(number()); }
  void field(std::int64_t& value) { value = static_cast<std::int64_t>(number()); }
  template <class T>
  void field(std::vector<T>& values) {
    // Texts and lists take the eight bytes of their length at least, whatever they take in memory.
    values.resize(count(std::is_arithmetic_v<T> ? sizeof(T) : sizeof(std::uint64_t)));
    for (T& value : values) field(value);
  }
  template <class T>
  void field(std::map<std::string, T>& values) {
    for (std::size_t left = count(2 * sizeof(std::uint64_t)); left > 0 && good_; --left) {
      std::string key;
      field(key);
      field(values[key]);
    }
  }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::uint64_t number() {
    const std::string_view taken = take(sizeof(std::uint64_t));
    return taken.empty() ? 0 : get_u64(taken);
  }
  /// A length; never more than the bytes that are left can hold, so that nonsense does not allocate.
  std::size_t count(std::size_t least_size) {
    const std::uint64_t value = number();
    if (value <= bytes_.size() / least_size) return value;
    good_ = false;
    return 0;
  }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace scrm
