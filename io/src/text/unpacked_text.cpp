#include "text/unpacked_text.hpp"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "file/descriptor.hpp"
#include "file/fields.hpp"

namespace scrm {
namespace {

// Of a gzip header and of what follows the compressed bytes.
constexpr std::size_t kLeastBytes = 18;

/// All bytes of the file, or fewer where they cannot be read.
std::size_t read_all(const Descriptor& file, char* out, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = read_some(file, out + done, size - done);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

std::shared_ptr<const UnpackedText> unpack_whole(const std::string& path, std::size_t most) {
  // Asked before it is opened: whoever writes into a pipe takes an opening for a reader, and writes to nobody.
  struct stat information {};
  if (::stat(path.c_str(), &information) != 0 || !S_ISREG(information.st_mode)) return nullptr;
  const Descriptor file(path, O_RDONLY);
  if (!file.open() || ::fstat(file.get(), &information) != 0 || !S_ISREG(information.st_mode)) return nullptr;
  const auto packed_size = static_cast<std::size_t>(information.st_size);
  if (packed_size < kLeastBytes || packed_size > most) return nullptr;
  char mark[2];
  if (read_all(file, mark, sizeof mark) != sizeof mark || mark[0] != '\x1F' || mark[1] != '\x8B') return nullptr;
  char length[4];
  if (::pread(file.get(), length, sizeof length, information.st_size - 4) != sizeof length) return nullptr;
  // The size modulo 2^32, which one that fits the memory of most machines is not; a lie is found when unpacking.
  const std::size_t size = get_u32({length, sizeof length});
  if (size > most - packed_size) return nullptr;

  const auto packed = std::make_unique_for_overwrite<char[]>(packed_size);
  std::copy_n(mark, sizeof mark, packed.get());
  if (read_all(file, packed.get() + sizeof mark, packed_size - sizeof mark) != packed_size - sizeof mark)
    return nullptr;
  auto text = std::make_shared<UnpackedText>();
  text->bytes = std::make_unique_for_overwrite<char[]>(size + 1);
  text->size = size;
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> unpacker(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (!unpacker) return nullptr;
  std::size_t used = 0, got = 0;
  const libdeflate_result result =
      libdeflate_gzip_decompress_ex(unpacker.get(), packed.get(), packed_size, text->bytes.get(), size, &used, &got);
  if (result != LIBDEFLATE_SUCCESS || used != packed_size || got != size) return nullptr;
  return text;
}

}  // namespace scrm
