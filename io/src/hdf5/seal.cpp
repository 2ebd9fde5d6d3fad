#include "hdf5/seal.hpp"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>

#include "file/fields.hpp"

namespace scrm {
namespace {

// The end of a seal: its extents (16 bytes each), their number, the checksum, and this.
constexpr std::string_view kMagic = "scrm-met";
constexpr std::size_t kEndBytes = 2 * sizeof(std::uint32_t) + kMagic.size();
// With a note between the extents and their number, and the note's length behind it.
constexpr std::string_view kNoteMagic = "scrm-not";
constexpr std::size_t kExtentBytes = 2 * sizeof(std::uint64_t);
// Archives of earlier versions end in the checksum of all bytes alone.
constexpr std::string_view kWholeMagic = "scrm-end";
constexpr std::size_t kWholeBytes = kWholeMagic.size() + sizeof(std::uint32_t);

/// Of the bytes [begin, end), continued from `sum`; empty when they cannot be read.
std::optional<std::uint32_t> checksum(std::uint32_t sum, const Descriptor& file, Extent extent) noexcept {
  std::array<char, 65536> buffer;
  while (extent.begin < extent.end) {
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), extent.end - extent.begin));
    if (read_at(file, buffer.data(), step, static_cast<std::int64_t>(extent.begin)) != static_cast<ssize_t>(step))
      return std::nullopt;
    sum = libdeflate_crc32(sum, buffer.data(), step);
    extent.begin += step;
  }
  return sum;
}

/// Of the list of extents and of all bytes of the first `size` that lie outside of them; empty when the extents do not
/// ascend or the file cannot be read.
std::optional<std::uint32_t> seal_checksum(const Descriptor& file, std::uint64_t size,
                                           const std::vector<Extent>& unsealed, std::string_view list) noexcept {
  std::optional<std::uint32_t> sum = libdeflate_crc32(0, list.data(), list.size());
  std::uint64_t done = 0;
  for (const Extent& gap : unsealed) {
    if (gap.begin < done || gap.end < gap.begin || gap.end > size) return std::nullopt;
    sum = checksum(*sum, file, {done, gap.begin});
    if (!sum) return sum;
    done = gap.end;
  }
  return checksum(*sum, file, {done, size});
}

std::uint64_t size_of(const Descriptor& file) noexcept {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

/// The last `size` bytes before `end`; empty when they are not there.
std::string bytes_before(const Descriptor& file, std::uint64_t end, std::size_t size) {
  if (end < size) return {};
  std::string bytes(size, '\0');
  const auto at = static_cast<std::int64_t>(end - size);
  return read_at(file, bytes.data(), size, at) == static_cast<ssize_t>(size) ? bytes : std::string();
}

SealStatus status_of(std::optional<std::uint32_t> found, std::uint32_t expected) {
  return found && *found == expected ? SealStatus::valid : SealStatus::broken;
}

/// The seal whose last bytes are `end`, with a note of this length, if any, before them.
Seal read_seal_before(const Descriptor& file, std::uint64_t size, std::string_view end, std::uint64_t note_bytes) {
  const std::size_t count = get_u32(end);
  if (count > size / kExtentBytes || note_bytes > size) return {SealStatus::broken, {}};
  const std::size_t extent_bytes = count * kExtentBytes;
  const std::string list = bytes_before(file, size, extent_bytes + note_bytes);
  if (list.size() != extent_bytes + note_bytes) return {SealStatus::broken, {}};
  std::vector<Extent> unsealed(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view at = std::string_view(list).substr(i * kExtentBytes);
    unsealed[i] = {get_u64(at), get_u64(at.substr(sizeof(std::uint64_t)))};
  }
  const auto sum = seal_checksum(file, size - list.size(), unsealed, list);
  const SealStatus status = status_of(sum, get_u32(end.substr(sizeof(std::uint32_t))));
  return {status, status == SealStatus::valid ? list.substr(extent_bytes) : std::string()};
}

}  // namespace

int append_seal(const std::string& path, const std::vector<Extent>& unsealed, const std::string& note) {
  const Descriptor file(path, O_RDWR);
  if (!file.open()) return errno;
  const std::uint64_t size = size_of(file);
  std::string trailer;
  for (const Extent& extent : unsealed) {
    put_u64(trailer, extent.begin);
    put_u64(trailer, extent.end);
  }
  trailer += note;
  const auto sum = seal_checksum(file, size, unsealed, trailer);
  if (!sum) return EIO;
  if (!note.empty()) put_u32(trailer, static_cast<std::uint32_t>(note.size()));
  put_u32(trailer, static_cast<std::uint32_t>(unsealed.size()));
  put_u32(trailer, *sum);
  trailer += note.empty() ? kMagic : kNoteMagic;
  return write_at(file, trailer, static_cast<std::int64_t>(size));
}

Seal read_seal(const Descriptor& file) {
  constexpr std::size_t kNoteLength = sizeof(std::uint32_t);
  const std::uint64_t size = size_of(file);
  const std::string last = bytes_before(file, size, kNoteLength + kEndBytes);
  const std::string_view end = std::string_view(last).substr(std::min(kNoteLength, last.size()));
  if (end.ends_with(kMagic)) return read_seal_before(file, size - kEndBytes, end, 0);
  if (end.ends_with(kNoteMagic)) return read_seal_before(file, size - last.size(), end, get_u32(last));
  const std::string whole = bytes_before(file, size, kWholeBytes);
  if (!whole.starts_with(kWholeMagic)) return {};
  const auto sum = checksum(0, file, {0, size - kWholeBytes});
  return {status_of(sum, get_u32(std::string_view(whole).substr(kWholeMagic.size()))), {}};
}

}  // namespace scrm
