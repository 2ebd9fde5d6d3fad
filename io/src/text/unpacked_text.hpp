/// unpack_whole: the text of a gzip-compressed file at once, for who has the memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace scrm {

struct UnpackedText {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;
};

/// Several times as fast as unpacking piece by piece, and needed once only where a text is read twice. Null where the
/// file is no regular one or not compressed, where it has several members or is damaged, and where it takes more than
/// `most` bytes, packed and unpacked together: TextStream reads those, or says what is wrong with them.
std::shared_ptr<const UnpackedText> unpack_whole(const std::string& path, std::size_t most);

}  // namespace scrm
