/// NpyArray: the numbers of one array of an .npz archive, one after another, as doubles or integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npz/zip_archive.hpp"
#include "npz/zip_bytes.hpp"

namespace scrm {

/// How the elements of an array are stored.
enum class NpyElement : std::uint8_t { f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 };

/// Row after row is read from front to back, in constant memory, whether the array lies by rows (C order) or by columns
/// (Fortran order). Errors name archive and array.
class NpyArray {
 public:
  /// Opens array NAME (the entry NAME.npy). Throws where there is none, where its elements are not numbers (arrays of
  /// objects are pickles, which are programs), or where its length does not fit its shape. Compressed columns are
  /// unpacked into a file `beside` an output.
  NpyArray(const ZipArchive& archive, const std::string& name, std::string beside);

  const std::string& name() const noexcept { return name_; }
  const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
  /// Length of the first axis; 1 for a scalar.
  std::int64_t rows() const noexcept { return shape_.empty() ? 1 : shape_[0]; }
  /// Elements in a row.
  std::int64_t width() const noexcept { return width_; }

  /// Whether the elements are integers.
  bool whole() const noexcept { return element_ != NpyElement::f32 && element_ != NpyElement::f64; }

  /// Bytes that putting rows together takes, where the array lies by columns; else 0.
  std::size_t tile_bytes() const noexcept;

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
  void refill_from_columns();
  std::int64_t tile_rows() const noexcept;
  template <class To>
  void read_as(To* out, std::size_t count);

  const ZipArchive* archive_;
  std::string name_;
  std::string beside_;
  ZipStream stream_;
  std::optional<ZipBytes> columns_;  // once a row of an array that lies by columns is asked for
  bool by_columns_ = false;
  NpyElement element_ = NpyElement::f64;
  bool big_endian_ = false;
  std::vector<std::int64_t> shape_;
  std::int64_t width_ = 1;
  std::uint64_t header_bytes_ = 0;
  std::uint64_t bytes_left_ = 0;
  std::int64_t next_row_ = 0;  // of columns
  std::vector<char> column_;   // of the rows in the buffer
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;  // of the buffer
};

/// "context" of an entry "context.npy"; the name itself where it ends otherwise.
std::string array_name(const std::string& entry);

}  // namespace scrm
