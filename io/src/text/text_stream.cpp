#include "text/text_stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{1} << 18;
constexpr int kGzipWindow = 15 + 16;  // the largest window, and a gzip header around it

[[noreturn]] void fail_reading(const std::string& path) {
  throw Error(ErrorKind::file, fmt::format("cannot read: {}", reason_of(errno)), {.file = path});
}

}  // namespace

struct TextStream::Unpacking {
  z_stream stream{};
  std::vector<char> packed;
  bool inside = false;  // a member has begun and not ended
  bool at_end = false;

  Unpacking() : packed(kPackedBytes) {}
  ~Unpacking() { inflateEnd(&stream); }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
};

TextStream::TextStream(std::string path, std::shared_ptr<const UnpackedText> text)
    : path_(std::move(path)), file_(path_, O_RDONLY), text_(std::move(text)) {
  struct stat information {};
  if (!file_.open() || ::fstat(file_.get(), &information) != 0) fail_reading(path_);
  if (S_ISDIR(information.st_mode)) throw Error(ErrorKind::file, "is a folder; give a text file", {.file = path_});
  bytes_total_ = S_ISREG(information.st_mode) ? information.st_size : 0;
  if (text_) return;
  // A pipe may give one byte at a time.
  first_.resize(2);
  std::size_t got = 0;
  while (got < first_.size()) {
    const std::size_t more = read_file(first_.data() + got, first_.size() - got);
    if (more == 0) break;
    got += more;
  }
  first_.resize(got);
  if (got < 2 || first_[0] != '\x1F' || first_[1] != '\x8B') return;
  unpacking_ = std::make_unique<Unpacking>();
  if (inflateInit2(&unpacking_->stream, kGzipWindow) != Z_OK)
    throw Error(ErrorKind::memory, "there is no memory to unpack it", {.file = path_});
  std::copy(first_.begin(), first_.end(), unpacking_->packed.begin());
  unpacking_->stream.next_in = reinterpret_cast<Bytef*>(unpacking_->packed.data());
  unpacking_->stream.avail_in = static_cast<uInt>(got);
}

TextStream::~TextStream() = default;
TextStream::TextStream(TextStream&&) noexcept = default;
TextStream& TextStream::operator=(TextStream&&) noexcept = default;

std::size_t TextStream::read_file(char* out, std::size_t size) {
  const ssize_t got = read_some(file_, out, size);
  if (got < 0) fail_reading(path_);
  bytes_read_ += got;
  return static_cast<std::size_t>(got);
}

std::size_t TextStream::read(char* out, std::size_t size) {
  if (text_) return copy_text(out, size);
  if (unpacking_) return unpack(out, size);
  if (first_at_ == first_.size()) return read_file(out, size);
  const std::size_t count = std::min(size, first_.size() - first_at_);
  std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(first_at_), count, out);
  first_at_ += count;
  // The rest of the buffer too: who reads a small file in one call expects it whole.
  return count + (count < size ? read_file(out + count, size - count) : 0);
}

std::size_t TextStream::copy_text(char* out, std::size_t size) {
  const std::size_t count = std::min(size, text_->size - text_at_);
  std::copy_n(text_->bytes.get() + text_at_, count, out);
  text_at_ += count;
  // As if as much of the file had been read.
  if (text_->size > 0)
    bytes_read_ = static_cast<std::int64_t>(static_cast<double>(bytes_total_) * static_cast<double>(text_at_) /
                                            static_cast<double>(text_->size));
  return count;
}

std::size_t TextStream::unpack(char* out, std::size_t size) {
  Unpacking& state = *unpacking_;
  z_stream& stream = state.stream;
  stream.next_out = reinterpret_cast<Bytef*>(out);
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1U << 30U));
  const uInt wanted = stream.avail_out;
  while (stream.avail_out == wanted) {
    if (stream.avail_in == 0 && !state.at_end) {
      stream.next_in = reinterpret_cast<Bytef*>(state.packed.data());
      stream.avail_in = static_cast<uInt>(read_file(state.packed.data(), state.packed.size()));
      state.at_end = stream.avail_in == 0;
    }
    if (stream.avail_in == 0) {
      if (!state.inside) return 0;
      throw Error(ErrorKind::data, "the gzip-compressed file ends in the middle; is the copy complete?",
                  {.file = path_});
    }
    state.inside = true;
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      // Files that were packed in parts (or joined with cat) go on with another member.
      state.inside = false;
      inflateReset(&stream);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      throw Error(ErrorKind::data,
                  fmt::format("the gzip-compressed file is damaged: {}",
                              stream.msg != nullptr ? stream.msg : "its bytes make no sense"),
                  {.file = path_});
    }
  }
  return wanted - stream.avail_out;
}

}  // namespace scrm
