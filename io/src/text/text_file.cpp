#include "text/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "scrm/io/error.hpp"

namespace scrm {
namespace {

constexpr std::size_t kPipeStep = std::size_t{1} << 20;
constexpr std::size_t kShown = 40;

/// Closes at the end of a scope.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

TextFile::TextFile(std::string path) : path_(std::move(path)) {
  read();
  text_ = bytes_;
  check_first_bytes();
}

void TextFile::read() {
  const auto cannot = [&](int error) {
    throw Error(ErrorKind::file, fmt::format("cannot read: {}", std::strerror(error)), {.file = path_});
  };
  const Descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) cannot(errno);
  struct stat information {};
  if (::fstat(file.number, &information) != 0) cannot(errno);
  if (S_ISDIR(information.st_mode)) throw Error(ErrorKind::file, "is a folder; give a text file", {.file = path_});
  // One byte more than the file has, so that its end is seen without growing the buffer.
  std::size_t room = S_ISREG(information.st_mode) ? static_cast<std::size_t>(information.st_size) + 1 : kPipeStep;
  std::size_t size = 0;
  for (;;) {
    if (bytes_.size() < size + room) bytes_.resize(size + room);
    const ssize_t got = ::read(file.number, bytes_.data() + size, bytes_.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot(errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    // Doubling, so that a long pipe is not copied over and over.
    room = size < bytes_.size() ? bytes_.size() - size : std::max(kPipeStep, size);
  }
  bytes_.resize(size);
}

void TextFile::check_first_bytes() {
  const auto begins = [&](std::string_view bytes) { return text_.substr(0, bytes.size()) == bytes; };
  if (begins("\xEF\xBB\xBF")) text_.remove_prefix(3);
  if (begins("\xFF\xFE") || begins("\xFE\xFF")) fail_file("is UTF-16 text; save it as UTF-8");
  if (begins("\x1F\x8B") || begins("BZh") ||
      begins("\xFD"
             "7zXZ") ||
      begins("PK\x03\x04"))
    fail_file("is compressed; unpack it first");
  if (begins("\x89HDF")) fail_file("is an HDF5 file, not text");
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

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string excerpt(std::string_view text) {
  std::string shown(text.substr(0, kShown));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  return text.size() > kShown ? shown + "..." : shown;
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
