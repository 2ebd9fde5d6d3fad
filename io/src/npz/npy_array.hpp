/// NpyArray: the numbers of one array of an .npz archive, one after another, as doubles or integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "npz/zip_archive.hpp"

namespace scrm {

/// How the elements of an array are stored.
enum class NpyElement : std::uint8_t { f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 };

/// Where rows of a C-ordered array are read from front to back, in constant memory. Errors name archive and array.
class NpyArray {
 public:
  /// Opens array NAME (the entry NAME.npy). Throws where there is none, where its elements are not numbers (arrays of
  /// objects are pickles, which are programs), or where its length does not fit its shape.
  NpyArray(const ZipArchive& archive, const std::string& name);

  const std::string& name() const noexcept { return name_; }
  const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
  /// Length of the first axis; 1 for a scalar.
  std::int64_t rows() const noexcept { return shape_.empty() ? 1 : shape_[0]; }
  /// Elements in a row.
  std::int64_t width() const noexcept { return width_; }

  /// Whether the elements are integers.
  bool whole() const noexcept { return element_ != NpyElement::f32 && element_ != NpyElement::f64; }

  /// The next `count` elements. As integers only where they are, those above the largest int64 as negative ones.
  void read(double* out, std::size_t count);
  void read(std::int64_t* out, std::size_t count);

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void read_header();
  void parse_header(const std::string& header);
  void parse_element(const std::string& type);
  void check_length(std::size_t header_bytes) const;
  void refill();
  template <class To>
  void read_as(To* out, std::size_t count);

  std::string file_;
  std::string name_;
  ZipStream stream_;
  NpyElement element_ = NpyElement::f64;
  std::vector<std::int64_t> shape_;
  std::int64_t width_ = 1;
  std::uint64_t bytes_left_ = 0;
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;  // of the buffer
};

/// "context" of an entry "context.npy"; the name itself where it ends otherwise.
std::string array_name(const std::string& entry);

}  // namespace scrm
