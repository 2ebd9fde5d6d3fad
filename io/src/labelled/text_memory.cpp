#include "labelled/text_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "file/descriptor.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Text of which nothing is known, the numbers read from it, and lists that grow: measured at 2.5 bytes for each byte of
// text where numbers have four digits, and at 6 where they have one.
constexpr double kMemoryPerByte = 6;
// Of a number, twice while its list is copied into a longer one.
constexpr double kMemoryPerWord = 2 * sizeof(double);
constexpr std::string_view kGzip = "\x1f\x8b";

struct TextSize {
  double bytes = 0, words = 0;
  bool packed = false;
};

/// Counts what stands between commas, colons and blanks: numbers, and the places of sparse ones.
TextSize measure_text(const std::string& path) {
  constexpr std::string_view kBetween = " \t\r\n,:;";
  std::array<bool, 256> between{};
  for (const char c : kBetween) between[static_cast<unsigned char>(c)] = true;
  TextSize size;
  const Descriptor file(path, O_RDONLY);
  std::array<char, 65536> buffer;
  bool inside = false;
  std::int64_t words = 0;
  for (ssize_t got = 0; file.open() && (got = read_some(file, buffer.data(), buffer.size())) > 0;) {
    if (size.bytes == 0)
      size.packed = std::string_view(buffer.data(), static_cast<std::size_t>(got)).starts_with(kGzip);
    if (size.packed) break;
    for (ssize_t i = 0; i < got; ++i) {
      const bool now = !between[static_cast<unsigned char>(buffer[static_cast<std::size_t>(i)])];
      words += now && !inside ? 1 : 0;
      inside = now;
    }
    size.bytes += static_cast<double>(got);
  }
  size.words = static_cast<double>(words);
  return size;
}

}  // namespace

std::size_t require_text_fits(const std::vector<std::string>& paths, std::size_t memory) {
  if (memory == 0) return 0;
  const auto unknown_share =
      static_cast<std::size_t>(static_cast<double>(memory) / kMemoryPerByte / static_cast<double>(paths.size()));
  double longest = 0, words = 0;
  for (const std::string& path : paths) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(path, unknown)) return unknown_share;
    const TextSize size = measure_text(path);
    if (size.packed) return unknown_share;
    longest = std::max(longest, size.bytes);
    words += size.words;
  }
  const double needed = longest + words * kMemoryPerWord;
  if (needed <= static_cast<double>(memory)) return memory;
  throw Error(ErrorKind::memory,
              fmt::format("labelled data is held in memory, and {:.0f} numbers and names of text can take {:.1f} MB, "
                          "where the memory budget leaves {:.1f} MB; give a larger --memory",
                          words, needed * 1e-6, static_cast<double>(memory) * 1e-6),
              {.file = paths.front()});
}

}  // namespace scrm
