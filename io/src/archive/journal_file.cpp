#include "archive/journal_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <libdeflate.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "file/descriptor.hpp"
#include "file/fields.hpp"
#include "file/temporary.hpp"
#include "scrm/io/archive/run_serialization.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

constexpr std::string_view kMagic = "scrm-run";
constexpr std::uint32_t kVersion = 1;
// Magic, version, length of the text.
constexpr std::size_t kHeaderFixed = 8 + sizeof(std::uint32_t) + sizeof(std::uint64_t);
// Length and CRC-32.
constexpr std::size_t kFrameFixed = sizeof(std::uint64_t) + sizeof(std::uint32_t);

std::uint32_t crc32(std::uint32_t before, std::string_view bytes) {
  return libdeflate_crc32(before, bytes.data(), bytes.size());
}

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorKind::file, what + ": " + reason_of(error), {.file = path});
}

/// The content of the frame that `bytes` begin with; empty when it is not whole.
std::optional<std::string_view> whole_frame(std::string_view bytes) {
  if (bytes.size() < kFrameFixed) return std::nullopt;
  const std::string_view length_bytes = bytes.substr(0, sizeof(std::uint64_t));
  const std::uint64_t length = get_u64(length_bytes);
  if (length > bytes.size() - kFrameFixed) return std::nullopt;
  const std::string_view content = bytes.substr(kFrameFixed, length);
  const std::uint32_t expected = get_u32(bytes.substr(sizeof(std::uint64_t)));
  if (crc32(crc32(0, length_bytes), content) != expected) return std::nullopt;
  return content;
}

/// Takes the header off `bytes` and gives its text.
std::string take_header(const std::string& path, std::string_view& bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic)
    throw Error(ErrorKind::data, "is not a journal of runs and is left alone; move it away, or give another name",
                {.file = path});
  const auto damaged = [&path]() -> Error {
    return {ErrorKind::data, "the beginning of this journal is damaged; delete it to begin again", {.file = path}};
  };
  if (bytes.size() < kHeaderFixed) throw damaged();
  const std::uint32_t version = get_u32(bytes.substr(kMagic.size()));
  if (version != kVersion)
    throw Error(
        ErrorKind::data,
        fmt::format("is a journal of version {}, this program reads version {}; finish it with the program that "
                    "began it, or delete it to begin again",
                    version, kVersion),
        {.file = path});
  const std::uint64_t length = get_u64(bytes.substr(kMagic.size() + sizeof version));
  const std::size_t left = bytes.size() - kHeaderFixed;
  if (left < sizeof(std::uint32_t) || length > left - sizeof(std::uint32_t)) throw damaged();
  const std::string_view checked = bytes.substr(0, kHeaderFixed + length);
  if (get_u32(bytes.substr(checked.size())) != crc32(0, checked)) throw damaged();
  bytes.remove_prefix(checked.size() + sizeof(std::uint32_t));
  return std::string(checked.substr(kHeaderFixed));
}

/// One writer at a time. A file system that knows no locks is no reason to refuse.
void lock_file(const std::string& path, const Descriptor& file) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw Error(ErrorKind::file,
              "another process is writing to this journal; wait until it has ended, or give another name",
              {.file = path});
}

/// Whether the name still leads to the file that was opened: it may have been deleted before the lock was ours.
bool still_named(const std::string& path, const Descriptor& file) {
  struct stat opened {
  }, named{};
  return ::fstat(file.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

/// A new journal under this name, locked; not open when the name was taken meanwhile.
Descriptor create(const std::string& path, const std::string& header_text) {
  Temporary temporary(path, Temporary::Kind::file);
  if (temporary.error() == ENOENT)
    fail(path, "cannot create this journal, the folder " + folder_of(path) + " does not exist", ENOENT);
  if (temporary.error() != 0) fail(path, "cannot create this journal", temporary.error());
  Descriptor file = temporary.take_descriptor();
  lock_file(path, file);
  if (const int error = write_at(file, journal_header(header_text), 0); error != 0)
    fail(path, "cannot create this journal, nothing appeared under this name", error);
  if (const int error = sync(file); error != 0) fail(path, "cannot bring this journal to disk", error);
  // A link, unlike a rename, never takes the place of a journal that another process has just made.
  int status = ::link(temporary.path().c_str(), path.c_str());
  if (status != 0 && (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS))
    status = ::rename(temporary.path().c_str(), path.c_str());
  if (status != 0 && errno == EEXIST) return {};
  if (status != 0) fail(path, "cannot give this journal its name", errno);
  sync_folder_of(path);
  return file;
}

}  // namespace

std::string journal_header(const std::string& header_text) {
  std::string bytes(kMagic);
  put_u32(bytes, kVersion);
  put_u64(bytes, header_text.size());
  bytes += header_text;
  put_u32(bytes, crc32(0, bytes));
  return bytes;
}

std::string journal_frame(const RunRecord& record) {
  const std::string content = serialize_run(record);
  std::string frame;
  frame.reserve(kFrameFixed + content.size());
  put_u64(frame, content.size());
  put_u32(frame, crc32(crc32(0, frame), content));
  return frame += content;
}

ParsedJournal parse_journal(const std::string& path, std::string_view bytes) {
  ParsedJournal parsed;
  const std::size_t total = bytes.size();
  parsed.contents.header_text = take_header(path, bytes);
  while (const auto content = whole_frame(bytes)) {
    std::optional<RunRecord> record = deserialize_run(*content);
    if (!record)
      throw Error(
          ErrorKind::data,
          "this record is whole but not one this program knows; finish the sweep with the program that began it",
          {.file = path, .row = static_cast<std::int64_t>(parsed.contents.records.size())});
    parsed.contents.records.push_back(std::move(*record));
    bytes.remove_prefix(kFrameFixed + content->size());
  }
  parsed.contents.torn_bytes = static_cast<std::int64_t>(bytes.size());
  parsed.whole_bytes = static_cast<std::int64_t>(total - bytes.size());
  return parsed;
}

std::string read_whole_file(const std::string& path, const Descriptor& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(path, "cannot be read", errno);
  if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::file, "is not a file; give another name", {.file = path});
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t done = read_at(file, bytes.data(), bytes.size(), 0);
  if (done < 0) fail(path, "cannot be read", errno);
  bytes.resize(static_cast<std::size_t>(done));
  return bytes;
}

Descriptor open_locked_journal(const std::string& path, const std::string& header_text) {
  // The name may come or go between two steps, but a process that does both all the time does not exist.
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // Never waits, should the name be that of a pipe.
    Descriptor file(path, O_RDWR | O_NONBLOCK);
    if (!file.open() && errno != ENOENT) fail(path, "cannot be opened for writing", errno);
    if (!file.open()) {
      file = create(path, header_text);
      if (file.open()) return file;
      continue;
    }
    struct stat status {};
    if (::fstat(file.get(), &status) == 0 && !S_ISREG(status.st_mode))
      throw Error(ErrorKind::file, "is not a file; give another name", {.file = path});
    lock_file(path, file);
    if (still_named(path, file)) return file;
  }
  throw Error(ErrorKind::file, "cannot be created: the name is taken, but nothing is there; give another name",
              {.file = path});
}

}  // namespace scrm
