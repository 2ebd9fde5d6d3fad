#include "file/file_range.hpp"

#include <fcntl.h>
#include <sys/uio.h>

#include <atomic>
#include <utility>

namespace scrm {
namespace {

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

FileRange::FileRange(std::shared_ptr<const Descriptor> in, std::uint64_t first, std::size_t bytes, Place what)
    : id(next_id()), file(std::move(in)), offset(first), length(bytes), place(std::move(what)) {
  // Walking over pages that are all there costs a tenth of decoding them, so one byte at the end stands for the rest.
  std::byte last{};
  iovec one{&last, 1};
  if (length > 0 && preadv2(file->get(), &one, 1, static_cast<off_t>(offset + length - 1), RWF_NOWAIT) != 1) {
    posix_fadvise(file->get(), static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_WILLNEED);
  }
}

}  // namespace scrm
