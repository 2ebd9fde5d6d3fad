/// TextStream: the bytes of a text file or a pipe, unpacked on the way where they are gzip-compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "file/descriptor.hpp"
#include "text/unpacked_text.hpp"

namespace scrm {

/// Whether a file is compressed is seen from its first bytes, not from its name. Errors name the file.
class TextStream {
 public:
  /// `text`: what the file holds, where that has been unpacked already.
  explicit TextStream(std::string path, std::shared_ptr<const UnpackedText> text = nullptr);
  ~TextStream();
  TextStream(TextStream&&) noexcept;
  TextStream& operator=(TextStream&&) noexcept;

  const std::string& path() const noexcept { return path_; }
  /// Reads what is there, 0 at the end.
  std::size_t read(char* out, std::size_t size);

  bool compressed() const noexcept { return unpacking_ != nullptr || text_ != nullptr; }
  /// Bytes of the file that have been read, compressed ones as they lie in it.
  std::int64_t bytes_read() const noexcept { return bytes_read_; }
  /// Size of the file as it lies on disk; 0 for pipes, where it is not known.
  std::int64_t bytes_total() const noexcept { return bytes_total_; }

 private:
  struct Unpacking;

  std::size_t read_file(char* out, std::size_t size);
  std::size_t unpack(char* out, std::size_t size);
  std::size_t copy_text(char* out, std::size_t size);

  std::string path_;
  Descriptor file_;
  std::int64_t bytes_total_ = 0;
  std::int64_t bytes_read_ = 0;
  std::vector<char> first_;   // bytes that were read to see what the file is
  std::size_t first_at_ = 0;  // how many of them were handed out
  std::unique_ptr<Unpacking> unpacking_;
  std::shared_ptr<const UnpackedText> text_;
  std::size_t text_at_ = 0;
};

}  // namespace scrm
