/// ByteStream: values as bytes and back, for what one rank tells another. Both ranks run the same program on the same
/// kind of machine: bytes are those that lie in memory.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace scrm {

using Bytes = std::vector<std::byte>;

/// Writes or reads, so that one function says what a value consists of, for both directions.
class ByteStream {
 public:
  /// An empty one, to be written.
  ByteStream() = default;
  /// One to be read.
  explicit ByteStream(Bytes bytes) : bytes_(std::move(bytes)), reads_(true) {}

  bool reads() const noexcept { return reads_; }
  /// Appends `count` bytes, or sets them to the next ones. Throws where there are fewer.
  void raw(void* data, std::size_t count);
  /// Bytes that are left to be read.
  std::size_t left() const noexcept { return bytes_.size() - at_; }
  /// What was written.
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
  bool reads_ = false;
};

/// A type that says itself what it consists of: void transfer(ByteStream&).
template <class T>
concept HasTransfer = requires(T& value, ByteStream& bytes) {
  value.transfer(bytes);
};

/// Plain numbers and structs of them. What holds pointers may look like one: it must have a transfer of its own.
template <class T>
concept PlainBytes = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !HasTransfer<T>;

template <PlainBytes T>
void transfer(ByteStream& bytes, T& value) {
  bytes.raw(&value, sizeof value);
}

template <HasTransfer T>
void transfer(ByteStream& bytes, T& value) {
  value.transfer(bytes);
}

/// What can go from rank to rank. Sums of a pass must.
template <class T>
concept Transferable = requires(ByteStream& bytes, T& value) {
  transfer(bytes, value);
};

inline void transfer(ByteStream& bytes, std::string& text) {
  std::uint64_t size = text.size();
  transfer(bytes, size);
  if (bytes.reads()) text.resize(size);
  bytes.raw(text.data(), size);
}

template <class T>
void transfer(ByteStream& bytes, std::vector<T>& values) requires requires(T& value) {
  transfer(bytes, value);
}
{
  std::uint64_t size = values.size();
  transfer(bytes, size);
  if (bytes.reads()) values.resize(size);
  if constexpr (PlainBytes<T>) {
    bytes.raw(values.data(), size * sizeof(T));
  } else {
    for (T& value : values) transfer(bytes, value);
  }
}

template <class T>
void transfer(ByteStream& bytes, std::optional<T>& value) requires(!PlainBytes<std::optional<T>>) {
  bool there = value.has_value();
  transfer(bytes, there);
  if (bytes.reads()) there ? void(value.emplace()) : value.reset();
  if (there) transfer(bytes, *value);
}

}  // namespace scrm
