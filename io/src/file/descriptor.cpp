#include "file/descriptor.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace scrm {
namespace {

namespace fs = std::filesystem;

template <class Call>
ssize_t uninterrupted(const Call& call) noexcept {
  ssize_t result = 0;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

Descriptor::Descriptor(const std::string& path, int flags) noexcept
    : number_(static_cast<int>(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); }))) {}

int Descriptor::close() noexcept {
  const int number = std::exchange(number_, -1);
  return number < 0 || ::close(number) == 0 ? 0 : errno;
}

std::string reason_of(int error) {
  const std::string reason = std::strerror(error);
  if (error == EMFILE) return reason + "; allow more with `ulimit -n`, or give fewer --threads";
  if (error == ENFILE) return reason + ": the whole system has run out of them; close other programs";
  return reason;
}

std::size_t files_kept_open() noexcept {
  constexpr rlim_t kMost = 16;
  // Standard streams, outputs, the process that reads HDF5 files; half of the others is for files in use.
  constexpr rlim_t kOthers = 12, kKeepers = 2;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  const rlim_t left = limit.rlim_cur > kOthers ? limit.rlim_cur - kOthers : 0;
  return std::clamp<rlim_t>(left / (2 * kKeepers), 1, kMost);
}

ssize_t read_some(const Descriptor& file, void* out, std::size_t size) noexcept {
  return uninterrupted([&] { return ::read(file.get(), out, size); });
}

ssize_t read_at(const Descriptor& file, void* out, std::size_t size, std::int64_t offset) noexcept {
  std::size_t done = 0;
  while (done < size) {
    char* const to = static_cast<char*>(out) + done;
    const off_t from = static_cast<off_t>(offset) + static_cast<off_t>(done);
    const ssize_t got = uninterrupted([&] { return ::pread(file.get(), to, size - done, from); });
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

void read_all_at(const Descriptor& file, void* out, std::size_t size, std::uint64_t offset, const Place& place) {
  const ssize_t got = read_at(file, out, size, static_cast<std::int64_t>(offset));
  if (got == static_cast<ssize_t>(size)) return;
  throw Error(
      ErrorKind::file,
      got < 0 ? "cannot be read: " + reason_of(errno) : "cannot be read to its end: it was cut short while it was read",
      place);
}

int write_at(const Descriptor& file, std::string_view bytes, std::int64_t offset) noexcept {
  while (!bytes.empty()) {
    const ssize_t written =
        uninterrupted([&] { return ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (written <= 0) return written == 0 ? ENOSPC : errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += written;
  }
  return 0;
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

int sync(const Descriptor& file) noexcept {
  return uninterrupted([&] { return ::fsync(file.get()); }) == 0 ? 0 : errno;
}

void sync_folder_of(const std::string& path) {
  const Descriptor folder(folder_of(path), O_RDONLY | O_DIRECTORY);
  if (folder.open()) sync(folder);
}

}  // namespace scrm
