#include "npz/npy_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include "file/fields.hpp"
#include "file/text.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

constexpr std::size_t kValueBytes = std::size_t{1} << 18;
// Of rows that are put together from columns: each is read in pieces of some kilobytes, for as many rows.
constexpr std::size_t kTileBytes = std::size_t{1} << 22;
constexpr std::size_t kFewestTileRows = 256, kMostTileRows = 65536;
constexpr std::size_t kLongestHeader = 65536;
constexpr std::string_view kEnding = ".npy";

std::size_t element_bytes(NpyElement element) {
  switch (element) {
    case NpyElement::i8:
    case NpyElement::u8:
      return 1;
    case NpyElement::i16:
    case NpyElement::u16:
      return 2;
    case NpyElement::f32:
    case NpyElement::i32:
    case NpyElement::u32:
      return 4;
    default:
      return 8;
  }
}

/// Each element with its bytes the other way round.
void reverse_elements(char* bytes, std::size_t count, std::size_t size) {
  for (char* const end = bytes + count * size; bytes < end; bytes += size) std::reverse(bytes, bytes + size);
}

template <class T, class To>
void convert(const char* bytes, std::size_t count, To* out) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    out[i] = static_cast<To>(value);
  }
}

template <class To>
void convert(NpyElement element, const char* bytes, std::size_t count, To* out) {
  switch (element) {
    case NpyElement::f32:
      return convert<float>(bytes, count, out);
    case NpyElement::f64:
      return convert<double>(bytes, count, out);
    case NpyElement::i8:
      return convert<std::int8_t>(bytes, count, out);
    case NpyElement::i16:
      return convert<std::int16_t>(bytes, count, out);
    case NpyElement::i32:
      return convert<std::int32_t>(bytes, count, out);
    case NpyElement::i64:
      return convert<std::int64_t>(bytes, count, out);
    case NpyElement::u8:
      return convert<std::uint8_t>(bytes, count, out);
    case NpyElement::u16:
      return convert<std::uint16_t>(bytes, count, out);
    case NpyElement::u32:
      return convert<std::uint32_t>(bytes, count, out);
    case NpyElement::u64:
      return convert<std::uint64_t>(bytes, count, out);
  }
}

/// What follows "'key':" in the header, a Python dictionary; empty where it has no such key.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  return trimmed(header.substr(at + key.size() + 3));
}

const ZipEntry& find_entry(const ZipArchive& archive, const std::string& name) {
  if (const ZipEntry* entry = archive.find(name + std::string(kEnding))) return *entry;
  std::vector<std::string> names;
  for (const ZipEntry& entry : archive.entries()) names.push_back(excerpt(array_name(entry.name)));
  throw Error(ErrorKind::data, fmt::format("has no array '{}'; {}", name, suggestion(name, names)),
              {.file = archive.path()});
}

}  // namespace

std::string array_name(const std::string& entry) {
  const bool ends = entry.size() >= kEnding.size() && entry.substr(entry.size() - kEnding.size()) == kEnding;
  return ends ? entry.substr(0, entry.size() - kEnding.size()) : entry;
}

NpyArray::NpyArray(const ZipArchive& archive, const std::string& name, std::string beside)
    : archive_(&archive), name_(name), beside_(std::move(beside)), stream_(archive, find_entry(archive, name)) {
  read_header();
}

void NpyArray::fail(const std::string& what) const {
  throw Error(ErrorKind::data, what, {.file = archive_->path(), .dataset = name_});
}

void NpyArray::read_header() {
  // Magic, version, and the header's length in two or four bytes.
  std::array<char, 8> begin{};
  if (stream_.entry().bytes < begin.size()) fail("is no array as NumPy writes it");
  stream_.read(begin.data(), begin.size());
  if (std::string_view(begin.data(), 6) != std::string_view("\x93NUMPY", 6)) fail("is no array as NumPy writes it");
  const bool first_version = begin[6] == 1;
  if (begin[6] < 1 || begin[6] > 3) fail(fmt::format("has version {} of NumPy's format", int{begin[6]}));
  std::string length(first_version ? 2 : 4, '\0');
  stream_.read(length.data(), length.size());
  const std::size_t header_bytes = first_version ? get_number<std::uint16_t>(length) : get_u32(length);
  if (header_bytes > kLongestHeader) fail("has a header that is too long");
  std::string header(header_bytes, '\0');
  stream_.read(header.data(), header.size());
  parse_header(header);
  header_bytes_ = begin.size() + length.size() + header_bytes;
  check_length(header_bytes_);
}

void NpyArray::parse_element(const std::string& type) {
  static const std::map<std::string, NpyElement> kElements = {
      {"f4", NpyElement::f32}, {"f8", NpyElement::f64}, {"i1", NpyElement::i8}, {"i2", NpyElement::i16},
      {"i4", NpyElement::i32}, {"i8", NpyElement::i64}, {"u1", NpyElement::u8}, {"u2", NpyElement::u16},
      {"u4", NpyElement::u32}, {"u8", NpyElement::u64}, {"b1", NpyElement::u8}};
  const auto found = type.empty() ? kElements.end() : kElements.find(type.substr(1));
  if (found == kElements.end() || std::string_view("<>|").find(type[0]) == std::string_view::npos)
    fail(fmt::format("holds elements of NumPy's type '{}'; save numbers, for instance as float64", excerpt(type)));
  element_ = found->second;
  big_endian_ = type[0] == '>';
}

void NpyArray::parse_header(const std::string& header) {
  const std::string_view type = value_of(header, "descr");
  if (type.size() < 2 || type[0] != '\'') fail("holds records rather than numbers");
  const std::string descr(type.substr(1, std::min(type.find('\'', 1), type.size()) - 1));
  if (descr.find('O') != std::string::npos)
    fail(
        "holds Python objects (None is one), which are not read, since unpickling runs code; save numbers, for "
        "instance np.asarray(values, dtype=float)");
  parse_element(descr);

  std::string_view shape = value_of(header, "shape");
  if (shape.empty() || shape[0] != '(' || shape.find(')') == std::string_view::npos) fail("has no shape");
  shape = shape.substr(1, shape.find(')') - 1);
  while (!trimmed(shape).empty()) {
    const std::size_t comma = std::min(shape.find(','), shape.size());
    const auto length = parse_integer(trimmed(shape.substr(0, comma)));
    if (!length || *length < 0) fail("has no shape");
    shape_.push_back(*length);
    shape.remove_prefix(std::min(comma + 1, shape.size()));
  }
  for (std::size_t axis = 1; axis < shape_.size(); ++axis)
    if (__builtin_mul_overflow(width_, shape_[axis], &width_)) fail("has a shape that is too large");
  by_columns_ = value_of(header, "fortran_order").starts_with("True") && shape_.size() > 1 && width_ > 1;
}

void NpyArray::check_length(std::size_t header_bytes) const {
  std::uint64_t bytes = element_bytes(element_);
  for (const std::int64_t length : shape_)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(length), &bytes))
      fail("has a shape that is too large");
  const std::uint64_t there = stream_.entry().bytes - header_bytes;
  if (bytes != there) fail(fmt::format("is damaged: {} bytes of numbers where its shape needs {}", there, bytes));
}

std::int64_t NpyArray::tile_rows() const noexcept {
  const std::size_t row_bytes = static_cast<std::size_t>(width_) * element_bytes(element_);
  const std::size_t fitting = std::clamp(kTileBytes / row_bytes, kFewestTileRows, kMostTileRows);
  return std::min(static_cast<std::int64_t>(fitting), rows());
}

std::size_t NpyArray::tile_bytes() const noexcept {
  if (!by_columns_) return 0;
  return static_cast<std::size_t>(tile_rows() * (width_ + 1)) * element_bytes(element_);
}

/// The next rows, from a piece of every column.
void NpyArray::refill_from_columns() {
  assert(shape_.size() == 2);
  if (!columns_) columns_.emplace(*archive_, stream_.entry(), beside_);
  const std::size_t size = element_bytes(element_);
  const auto count = static_cast<std::size_t>(std::min(tile_rows(), rows() - next_row_));
  if (count == 0) fail("has fewer elements than are asked for");
  const auto width = static_cast<std::size_t>(width_);
  column_.resize(count * size);
  buffer_.resize(count * width * size);
  for (std::size_t c = 0; c < width; ++c) {
    const std::uint64_t first = c * static_cast<std::uint64_t>(rows()) + static_cast<std::uint64_t>(next_row_);
    columns_->read(column_.data(), column_.size(), header_bytes_ + first * size);
    for (std::size_t r = 0; r < count; ++r)
      std::memcpy(buffer_.data() + (r * width + c) * size, column_.data() + r * size, size);
  }
  next_row_ += static_cast<std::int64_t>(count);
  filled_ = buffer_.size();
  at_ = 0;
}

void NpyArray::refill() {
  if (by_columns_) return refill_from_columns();
  if (buffer_.empty()) {
    buffer_.resize(kValueBytes);
    bytes_left_ = element_bytes(element_);
    for (const std::int64_t length : shape_) bytes_left_ *= static_cast<std::uint64_t>(length);
  }
  filled_ = static_cast<std::size_t>(std::min<std::uint64_t>(bytes_left_, buffer_.size()));
  if (filled_ == 0) fail("has fewer elements than are asked for");
  stream_.read(buffer_.data(), filled_);
  bytes_left_ -= filled_;
  at_ = 0;
}

template <class To>
void NpyArray::read_as(To* out, std::size_t count) {
  assert(whole() || std::is_floating_point_v<To>);
  const std::size_t size = element_bytes(element_);
  while (count > 0) {
    if (at_ == filled_) refill();
    const std::size_t here = std::min(count, (filled_ - at_) / size);
    if (big_endian_) reverse_elements(buffer_.data() + at_, here, size);
    convert(element_, buffer_.data() + at_, here, out);
    at_ += here * size;
    out += here;
    count -= here;
  }
}

void NpyArray::read(double* out, std::size_t count) {
  read_as(out, count);
}

void NpyArray::read(std::int64_t* out, std::size_t count) {
  read_as(out, count);
}

}  // namespace scrm
