#include "text/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "scrm/io/file/error.hpp"
#include "text/text_stream.hpp"

namespace scrm {
namespace {

constexpr std::size_t kPipeStep = std::size_t{1} << 20;

}  // namespace

std::string_view text_behind_mark(const std::string& path, std::string_view bytes) {
  const auto fail = [&](const char* what) { throw Error(ErrorKind::data, what, {.file = path}); };
  const auto begins = [&](std::string_view mark) { return bytes.substr(0, mark.size()) == mark; };
  if (begins("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  if (begins("\xFF\xFE") || begins("\xFE\xFF")) fail("is UTF-16 text; save it as UTF-8");
  const std::string_view xz(
      "\xFD"
      "7zXZ");
  if (begins("\x1F\x8B") || begins("BZh") || begins(xz) || begins("PK\x03\x04"))
    fail("is compressed; unpack it, or pack it with gzip, which is read as it is");
  if (begins("\x89HDF")) fail("is an HDF5 file, not text");
  return bytes;
}

TextFile::TextFile(std::string path, std::size_t max_bytes) : path_(std::move(path)) {
  read(max_bytes);
  text_ = text_behind_mark(path_, bytes_);
}

void TextFile::read(std::size_t max_bytes) {
  TextStream file(path_);
  // One byte more than the file has, so that its end is seen without growing the buffer.
  std::size_t room = file.bytes_total() > 0 ? static_cast<std::size_t>(file.bytes_total()) + 1 : kPipeStep;
  std::size_t size = 0;
  for (;;) {
    if (bytes_.size() < size + room) bytes_.resize(size + room);
    const std::size_t got = file.read(bytes_.data() + size, bytes_.size() - size);
    if (got == 0) break;
    size += got;
    if (max_bytes > 0 && size > max_bytes) {
      throw Error(
          ErrorKind::memory,
          fmt::format("is longer than {:.1f} MiB, the most text that can be held within the memory budget; give "
                      "a larger --memory",
                      static_cast<double>(max_bytes) / (1 << 20)),
          {.file = path_});
    }
    // Doubling, so that a long pipe is not copied over and over.
    room = size < bytes_.size() ? bytes_.size() - size : std::max(kPipeStep, size);
  }
  bytes_.resize(size);
}

bool TextFile::next() noexcept {
  if (at_ >= text_.size()) return false;
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  line_ = text_.substr(at_, end - at_);
  if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
  at_ = end + 1;
  ++number_;
  return true;
}

void TextFile::fail(const std::string& what) const {
  throw Error(ErrorKind::data, fmt::format("line {}: {}", number_, what), {.file = path_});
}

void TextFile::fail_file(const std::string& what) const {
  throw Error(ErrorKind::data, what, {.file = path_});
}

std::string common_name(const std::vector<std::string>& paths) {
  std::string name;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string stem = std::filesystem::path(paths[i]).stem().string();
    if (i == 0) name = stem;
    const auto differ = std::mismatch(name.begin(), name.end(), stem.begin(), stem.end()).first;
    name.erase(differ, name.end());
  }
  // "scene-t" of train and test ends in the middle of a word.
  if (paths.size() > 1) name.erase(std::min(name.find_last_of("-_. "), name.size()));
  return name.empty() && !paths.empty() ? std::filesystem::path(paths.front()).stem().string() : name;
}

}  // namespace scrm
