#include "scrm/io/file/limited_text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "file/descriptor.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/path_checks.hpp"

namespace scrm {
namespace {

// With less than this the budget is the fault, not the file.
constexpr std::size_t kLittle = std::size_t{64} << 10;
constexpr std::size_t kStep = std::size_t{64} << 10;
// A number as a node of the parsed text: measured at 85 to 100 bytes.
constexpr std::size_t kNodeBytes = 104;

}  // namespace

std::string read_limited_text(const std::string& path, std::size_t max_bytes, const std::string& what) {
  const auto fail = [&](int reason) {
    throw Error(ErrorKind::file, fmt::format("cannot read this {}: {}", what, reason_of(reason)), {.file = path});
  };
  require_file(path);
  const Descriptor file(path, O_RDONLY);
  struct stat information {};
  if (!file.open() || ::fstat(file.get(), &information) != 0) fail(errno);
  if (S_ISDIR(information.st_mode)) fail(EISDIR);
  std::string text;
  std::size_t size = 0;
  if (S_ISREG(information.st_mode))
    text.reserve(std::min(max_bytes, static_cast<std::size_t>(information.st_size)) + kStep);
  for (;;) {
    text.resize(size + kStep);
    const ssize_t got = read_some(file, text.data() + size, kStep);
    if (got < 0) fail(errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size <= max_bytes) continue;
    if (max_bytes < kLittle)
      throw Error(ErrorKind::memory,
                  fmt::format("this {} does not fit into what the program itself leaves of the memory budget", what),
                  {.file = path});
    throw Error(
        ErrorKind::memory,
        fmt::format("this {} is longer than {:.1f} MiB, the most that the memory budget allows; is it the right "
                    "file? If so, give a larger --memory",
                    what, static_cast<double>(max_bytes) / (1 << 20)),
        {.file = path});
  }
  text.resize(size);
  return text;
}

std::size_t toml_bytes(const std::string& text) {
  const auto is_mark = [](char c) { return c == ',' || c == '[' || c == '='; };
  return text.size() + kNodeBytes * static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_mark));
}

}  // namespace scrm
