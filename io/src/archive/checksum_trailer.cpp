#include "archive/checksum_trailer.hpp"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include "archive/run_serialization.hpp"
#include "file/descriptor.hpp"

namespace scrm {
namespace {

constexpr std::string_view kMagic = "scrm-end";
constexpr std::int64_t kTrailerBytes = 8 + sizeof(std::uint32_t);

/// Reads exactly `size` bytes; false when there are not as many.
bool read_exactly(const Descriptor& file, char* out, std::size_t size, std::int64_t offset) noexcept {
  return read_at(file, out, size, offset) == static_cast<ssize_t>(size);
}

/// Of the first `size` bytes; empty when they cannot be read.
std::optional<std::uint32_t> checksum(const Descriptor& file, std::int64_t size) noexcept {
  std::array<char, 65536> buffer;
  std::uint32_t sum = 0;
  for (std::int64_t done = 0; done < size;) {
    const auto step = static_cast<std::size_t>(std::min<std::int64_t>(buffer.size(), size - done));
    if (!read_exactly(file, buffer.data(), step, done)) return std::nullopt;
    sum = libdeflate_crc32(sum, buffer.data(), step);
    done += static_cast<std::int64_t>(step);
  }
  return sum;
}

std::int64_t size_of(const Descriptor& file) noexcept {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? status.st_size : 0;
}

}  // namespace

int append_checksum(const std::string& path) noexcept {
  const Descriptor file(path, O_RDWR);
  if (!file.open()) return errno;
  const std::int64_t size = size_of(file);
  const auto sum = checksum(file, size);
  if (!sum) return EIO;
  std::string trailer(kMagic);
  put_u32(trailer, *sum);
  return write_at(file, trailer, size);
}

ChecksumStatus verify_checksum(const Descriptor& file) noexcept {
  const std::int64_t size = size_of(file) - kTrailerBytes;
  std::array<char, kTrailerBytes> trailer;
  if (size < 0 || !read_exactly(file, trailer.data(), trailer.size(), size)) return ChecksumStatus::absent;
  const std::string_view bytes(trailer.data(), trailer.size());
  if (bytes.substr(0, kMagic.size()) != kMagic) return ChecksumStatus::absent;
  const auto sum = checksum(file, size);
  return sum && *sum == get_u32(bytes.substr(kMagic.size())) ? ChecksumStatus::valid : ChecksumStatus::mismatch;
}

}  // namespace scrm
