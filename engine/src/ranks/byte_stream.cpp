#include "scrm/engine/ranks/byte_stream.hpp"

#include <cstring>

#include "scrm/io/file/error.hpp"

namespace scrm {

void ByteStream::raw(void* data, std::size_t count) {
  if (count == 0) return;
  if (!reads_) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + count);
    return;
  }
  if (count > left()) throw Error(ErrorKind::run, "a message between ranks ends too early");
  std::memcpy(data, bytes_.data() + at_, count);
  at_ += count;
}

}  // namespace scrm
