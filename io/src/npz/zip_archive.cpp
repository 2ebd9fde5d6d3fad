#include "npz/zip_archive.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "file/descriptor.hpp"
#include "file/fields.hpp"
#include "file/text.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Sizes and marks of the ZIP format (APPNOTE.TXT, sections 4.3.7 to 4.3.16).
constexpr std::size_t kEndBytes = 22, kLargeLocatorBytes = 20, kLargeEndBytes = 56, kCentralBytes = 46,
                      kLocalBytes = 30;
constexpr std::size_t kLongestComment = 65535;
constexpr std::uint32_t kEndMark = 0x06054b50, kLargeLocatorMark = 0x07064b50, kLargeEndMark = 0x06064b50,
                        kCentralMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr std::uint32_t kElsewhere = 0xFFFFFFFF;  // the number stands in the extra field, where it has 64 bits
constexpr std::uint64_t kMaxDirectoryBytes = std::uint64_t{16} << 20;
constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

std::uint16_t get_u16(std::string_view bytes) {
  return get_number<std::uint16_t>(bytes);
}

std::string_view part(const std::string& bytes, std::size_t at) {
  return std::string_view(bytes).substr(at);
}

}  // namespace

// Not waiting for whoever should write into a pipe of this name.
ZipArchive::ZipArchive(std::string path) : path_(std::move(path)), file_(path_, O_RDONLY | O_NONBLOCK) {
  struct stat information {};
  if (!file_.open() || ::fstat(file_.get(), &information) != 0)
    throw Error(ErrorKind::file, fmt::format("cannot read: {}", reason_of(errno)), {.file = path_});
  if (!S_ISREG(information.st_mode))
    throw Error(ErrorKind::file, "is not a file; an .npz archive cannot be read from a pipe", {.file = path_});
  size_ = static_cast<std::uint64_t>(information.st_size);
  read_directory();
}

void ZipArchive::fail(const std::string& what) const {
  throw Error(ErrorKind::data, what, {.file = path_});
}

std::string ZipArchive::bytes_at(std::uint64_t offset, std::size_t count) const {
  if (offset > size_ || count > size_ - offset) fail("the archive is cut off or damaged: it points beyond its end");
  std::string bytes(count, '\0');
  read_all_at(file_, bytes.data(), count, offset, {.file = path_});
  return bytes;
}

ZipArchive::Directory ZipArchive::large_directory(std::uint64_t end_record) const {
  if (end_record < kLargeLocatorBytes) fail("the archive is damaged: its directory is not where it should be");
  const std::string locator = bytes_at(end_record - kLargeLocatorBytes, kLargeLocatorBytes);
  if (get_u32(locator) != kLargeLocatorMark) fail("the archive is damaged: its directory is not where it should be");
  const std::string end = bytes_at(get_u64(part(locator, 8)), kLargeEndBytes);
  if (get_u32(end) != kLargeEndMark) fail("the archive is damaged: its directory is not where it should be");
  return {.offset = get_u64(part(end, 48)), .bytes = get_u64(part(end, 40)), .entries = get_u64(part(end, 32))};
}

ZipArchive::Directory ZipArchive::find_directory() const {
  if (size_ < kEndBytes || get_u16(bytes_at(0, 2)) != (kLocalMark & 0xFFFF))
    fail("is not an .npz archive as numpy.savez writes it");
  // The end record is the last thing in the file, but for a comment of any length.
  const std::uint64_t tail = std::min<std::uint64_t>(size_, kEndBytes + kLongestComment);
  const std::string bytes = bytes_at(size_ - tail, tail);
  for (std::size_t at = tail - kEndBytes + 1; at-- > 0;) {
    if (get_u32(part(bytes, at)) != kEndMark) continue;
    const Directory found{.offset = get_u32(part(bytes, at + 16)),
                          .bytes = get_u32(part(bytes, at + 12)),
                          .entries = get_u16(part(bytes, at + 10))};
    const bool large = found.offset == kElsewhere || found.bytes == kElsewhere || found.entries == 0xFFFF;
    return large ? large_directory(size_ - tail + at) : found;
  }
  fail("the archive has no directory; is the copy complete?");
}

ZipEntry ZipArchive::parse_entry(const std::string& directory, std::size_t& at) const {
  const auto need = [&](std::size_t count) {
    if (count > directory.size() - at) fail("the archive is damaged: its directory ends in the middle of an entry");
  };
  need(kCentralBytes);
  const std::string_view record = part(directory, at);
  if (get_u32(record) != kCentralMark) fail("the archive is damaged: its directory has an entry that is none");
  const std::size_t name = get_u16(record.substr(28)), extra = get_u16(record.substr(30)),
                    comment = get_u16(record.substr(32));
  at += kCentralBytes;
  need(name + extra + comment);
  ZipEntry entry{.name = directory.substr(at, name),
                 .header = get_u32(record.substr(42)),
                 .packed_bytes = get_u32(record.substr(20)),
                 .bytes = get_u32(record.substr(24)),
                 .crc = get_u32(record.substr(16))};
  const unsigned flags = get_u16(record.substr(8)), method = get_u16(record.substr(10));
  if ((flags & 1U) != 0 || (method != 0 && method != 8))
    fail(fmt::format("'{}' is packed in a way that numpy.savez does not use", excerpt(entry.name)));
  entry.deflated = method == 8;
  std::string_view fields = part(directory, at + name).substr(0, extra);
  at += name + extra + comment;
  while (fields.size() >= 4) {
    const std::size_t id = get_u16(fields),
                      length = std::min<std::size_t>(get_u16(fields.substr(2)), fields.size() - 4);
    std::string_view values = fields.substr(4, length);
    fields.remove_prefix(4 + length);
    if (id != 1) continue;
    // Those numbers that did not fit into 32 bits, in this order.
    for (std::uint64_t* number : {&entry.bytes, &entry.packed_bytes, &entry.header}) {
      if (*number != kElsewhere || values.size() < 8) continue;
      *number = get_u64(values);
      values.remove_prefix(8);
    }
  }
  return entry;
}

void ZipArchive::check(const ZipEntry& entry) const {
  if (entry.header > size_ || entry.packed_bytes > size_ - entry.header)
    fail(fmt::format("the archive is cut off or damaged: '{}' lies beyond its end", excerpt(entry.name)));
  if (!entry.deflated && entry.packed_bytes != entry.bytes)
    fail(fmt::format("the archive is damaged: '{}' has two sizes", excerpt(entry.name)));
}

void ZipArchive::read_directory() {
  const Directory where = find_directory();
  if (where.bytes > kMaxDirectoryBytes) fail("the archive's directory is too large for an .npz archive");
  const std::string directory = bytes_at(where.offset, static_cast<std::size_t>(where.bytes));
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < where.entries; ++i) {
    entries_.push_back(parse_entry(directory, at));
    check(entries_.back());
  }
}

const ZipEntry* ZipArchive::find(const std::string& name) const noexcept {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

struct ZipStream::Unpacking {
  z_stream stream{};
  std::vector<char> packed;

  Unpacking() : packed(kBufferBytes) {}
  ~Unpacking() { inflateEnd(&stream); }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
};

ZipStream::ZipStream(const ZipArchive& archive, const ZipEntry& entry)
    : archive_(&archive), entry_(&entry), packed_left_(entry.packed_bytes), left_(entry.bytes) {
  const std::string local = archive.bytes_at(entry.header, kLocalBytes);
  if (get_u32(local) != kLocalMark) fail("the archive is damaged: there is no array where one should begin");
  place_ = entry.header + kLocalBytes + get_u16(part(local, 26)) + get_u16(part(local, 28));
  if (place_ > archive.size_ || packed_left_ > archive.size_ - place_)
    fail("the archive is cut off or damaged: the array lies beyond its end");
  if (!entry.deflated) return;
  unpacking_ = std::make_unique<Unpacking>();
  if (inflateInit2(&unpacking_->stream, -MAX_WBITS) != Z_OK) fail("there is no memory to unpack it");
}

ZipStream::~ZipStream() = default;
ZipStream::ZipStream(ZipStream&&) noexcept = default;

void ZipStream::fail(const std::string& what) const {
  throw Error(ErrorKind::data, what, {.file = archive_->path_, .dataset = excerpt(entry_->name)});
}

void ZipStream::read_packed(char* out, std::size_t count) {
  read_all_at(archive_->file_, out, count, place_, {.file = archive_->path_, .dataset = excerpt(entry_->name)});
  place_ += count;
  packed_left_ -= count;
}

void ZipStream::unpack(char* out, std::size_t count) {
  z_stream& stream = unpacking_->stream;
  while (count > 0) {
    const auto step = static_cast<uInt>(std::min<std::size_t>(count, 1U << 30U));
    stream.next_out = reinterpret_cast<Bytef*>(out);
    stream.avail_out = step;
    while (stream.avail_out > 0) {
      if (stream.avail_in == 0 && packed_left_ > 0) {
        const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(packed_left_, unpacking_->packed.size()));
        read_packed(unpacking_->packed.data(), more);
        stream.next_in = reinterpret_cast<Bytef*>(unpacking_->packed.data());
        stream.avail_in = static_cast<uInt>(more);
      }
      const uInt before = stream.avail_out;
      const int code = inflate(&stream, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END) fail("the array is damaged: its compressed bytes make no sense");
      if (stream.avail_out == before && (code == Z_STREAM_END || packed_left_ == 0))
        fail("the array is damaged: it ends too early");
    }
    out += step;
    count -= step;
  }
}

void ZipStream::read(void* out, std::size_t count) {
  if (count > left_) fail("the array is damaged: it ends too early");
  auto* bytes = static_cast<char*>(out);
  unpacking_ ? unpack(bytes, count) : read_packed(bytes, count);
  crc_ = static_cast<std::uint32_t>(::crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes), count));
  left_ -= count;
  if (left_ == 0 && count > 0 && crc_ != entry_->crc) fail("the array is damaged: its checksum does not fit");
}

}  // namespace scrm
