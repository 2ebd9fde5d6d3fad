#include "npz/zip_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "file/descriptor.hpp"
#include "file/text.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

[[noreturn]] void fail_unpacking(const std::string& beside, int error) {
  throw Error(ErrorKind::file, fmt::format("cannot unpack the archive beside it: {}", reason_of(error)),
              {.file = beside});
}

}  // namespace

ZipBytes::ZipBytes(const ZipArchive& archive, const ZipEntry& entry, const std::string& beside)
    : archive_(&archive), entry_(&entry) {
  ZipStream stream(archive, entry);
  if (entry.deflated) {
    unpacked_ = std::make_unique<Temporary>(output_target(beside), Temporary::Kind::file);
    if (unpacked_->error() != 0) fail_unpacking(beside, unpacked_->error());
  } else {
    place_ = stream.place();
  }
  std::vector<char> buffer(kPieceBytes);
  for (std::uint64_t at = 0; at < entry.bytes;) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(entry.bytes - at, buffer.size()));
    stream.read(buffer.data(), count);
    const int error =
        unpacked_ ? write_at(unpacked_->descriptor(), {buffer.data(), count}, static_cast<std::int64_t>(at)) : 0;
    if (error != 0) fail_unpacking(beside, error);
    at += count;
  }
}

void ZipBytes::read(void* out, std::size_t count, std::uint64_t offset) const {
  const Descriptor& file = unpacked_ ? unpacked_->descriptor() : archive_->file_;
  read_all_at(file, out, count, place_ + offset, {.file = archive_->path(), .dataset = excerpt(entry_->name)});
}

}  // namespace scrm
