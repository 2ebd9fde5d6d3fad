/// TextFile: a text file held in memory and read line by line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "file/text.hpp"

namespace scrm {

/// What follows a UTF-8 byte order mark in the first bytes of a file. Throws for what is no text that could be
/// understood: UTF-16, compressed, HDF5.
std::string_view text_behind_mark(const std::string& path, std::string_view bytes);

/// Lines end in LF or CRLF; a UTF-8 byte order mark is dropped. Pipes are read to their end.
class TextFile {
 public:
  /// Throws when the file cannot be read, is no text that could be understood, or has more than `max_bytes` bytes (0:
  /// no limit), of which no more are then read.
  explicit TextFile(std::string path, std::size_t max_bytes = 0);

  const std::string& path() const noexcept { return path_; }
  std::string_view text() const noexcept { return text_; }

  /// Goes to the next line; false at the end of the file.
  bool next() noexcept;
  /// The line without its end.
  std::string_view line() const noexcept { return line_; }
  /// From 1; 0 before the first.
  std::int64_t number() const noexcept { return number_; }

  /// Throws an Error about the line at hand.
  [[noreturn]] void fail(const std::string& what) const;
  /// Throws an Error about the file as a whole.
  [[noreturn]] void fail_file(const std::string& what) const;

 private:
  void read(std::size_t max_bytes);

  std::string path_;
  std::string bytes_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::string_view line_;
  std::int64_t number_ = 0;
};

/// The file's name without folder and ending; of several files, what their names begin with alike ("scene" of
/// scene-train.arff and scene-test.arff), or the first one's name where that is nothing.
std::string common_name(const std::vector<std::string>& paths);

}  // namespace scrm
