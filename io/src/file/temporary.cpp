#include "file/temporary.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>

#include "scrm/io/file/temporaries.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 16;

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    std::random_device device;
    bits = std::uint64_t{device()} << 32 | device();
  }
  return bits;
}

/// What all temporary names of a target begin with. A very long name is cut so that the additions still fit into what a
/// file system allows.
std::string name_prefix(const std::string& target) {
  constexpr std::size_t kLongestBase = 200;
  return fmt::format(".{}.scrm-", fs::path(target).filename().string().substr(0, kLongestBase));
}

/// Whether the name leads to what is open: it may be gone, or something else's by now.
bool still_named(const std::string& path, const Descriptor& file) {
  struct stat opened {
  }, named{};
  return ::fstat(file.get(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

// Signal handlers may not allocate or lock: a table of fixed size, in which every entry is one atomic state.
enum State : int { kFree, kFilling, kHeld, kTaken };
struct Entry {
  std::atomic<int> state = kFree;
  const char* path = nullptr;
  bool folder = false;
  pid_t owner = 0;  // a child made by fork inherits the table, but not what is in it
};
std::array<Entry, 64> entries;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait for a lock");

/// A folder and the files in it, by system calls alone.
void remove_folder(const char* path) noexcept {
  // Other threads may go on writing for a moment.
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    alignas(dirent64) std::array<char, 4096> buffer;
    for (;;) {
      const long got = ::syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
      if (got <= 0) break;
      for (long at = 0; at < got;) {
        const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
        if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
          ::unlinkat(folder, entry->d_name, 0);
        at += entry->d_reclen;
      }
    }
    ::close(folder);
    if (::rmdir(path) == 0 || errno != ENOTEMPTY) return;
  }
}

void remove_path(const char* path, bool folder) noexcept {
  if (folder)
    remove_folder(path);
  else
    ::unlink(path);
}

}  // namespace

std::string temporary_name(const std::string& target, std::string_view ending) {
  return (fs::path(target).parent_path() / fmt::format("{}{:016x}{}", name_prefix(target), random_bits(), ending))
      .string();
}

bool is_temporary_name(const std::string& name, const std::string& target) {
  const std::string prefix = name_prefix(target);
  if (name.compare(0, prefix.size(), prefix) != 0) return false;
  const std::string rest = name.substr(prefix.size());
  const auto hexadecimal = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (rest.size() < kDigits || !std::all_of(rest.begin(), rest.begin() + kDigits, hexadecimal)) return false;
  const std::string ending = rest.substr(kDigits);
  return ending == ".tmp" || ending == ".old";
}

std::string output_target(const std::string& path) {
  fs::path name = fs::absolute(path).lexically_normal();
  if (name.filename().empty()) name = name.parent_path();
  return behind_links(name.string());
}

std::string behind_links(const std::string& path) {
  // As many as the system follows. A link that leads nowhere says where its file would be.
  constexpr int kMostLinks = 40;
  fs::path name = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(name, error)); ++i) {
    const fs::path next = fs::read_symlink(name, error);
    if (error) break;
    name = name.parent_path() / next;  // which is `next` where that is absolute
  }
  return name.string();
}

void RemovedOnSignal::remember(const char* path, bool folder) noexcept {
  forget();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Entry& entry = entries[i];
    int expected = kFree;
    if (!entry.state.compare_exchange_strong(expected, kFilling)) continue;
    entry.path = path;
    entry.folder = folder;
    entry.owner = ::getpid();
    entry.state = kHeld;
    slot_ = static_cast<int>(i);
    return;
  }
  // A full table: what a signal leaves behind is then removed at the next write to the same output.
}

void RemovedOnSignal::forget() noexcept {
  if (slot_ < 0) return;
  Entry& entry = entries[static_cast<std::size_t>(slot_)];
  int expected = kHeld;
  if (!entry.state.compare_exchange_strong(expected, kFree) && entry.owner == ::getpid())
    for (;;) ::pause();
  slot_ = -1;
}

void RemovedOnSignal::made() noexcept {
  if (slot_ < 0) return;
  const Entry& entry = entries[static_cast<std::size_t>(slot_)];
  if (entry.state != kTaken || entry.owner != ::getpid()) return;
  remove_path(entry.path, entry.folder);
  for (;;) ::pause();
}

void remove_temporaries() noexcept {
  for (Entry& entry : entries) {
    int expected = kHeld;
    if (entry.owner != ::getpid() || !entry.state.compare_exchange_strong(expected, kTaken)) continue;
    remove_path(entry.path, entry.folder);
  }
}

Temporary::Temporary(const std::string& target, Kind kind) : kind_(kind) {
  // Who clears leftovers may take a file for one between its making and its locking: then another is made.
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // Registered first: a signal may come as soon as the name is there.
    path_ = temporary_name(target);
    on_signal_.remember(path_.c_str(), kind_ == Kind::folder);
    make();
    if (error_ != 0) break;
    on_signal_.made();
    // Shared, so that a reader which locks the finished file does not meet this lock. A file system that knows no
    // locks is no reason to fail.
    const bool locked = ::flock(descriptor_.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (locked && still_named(path_, descriptor_)) {
      owned_ = true;
      return;
    }
  }
  on_signal_.forget();
  if (error_ == 0) error_ = EBUSY;
}

void Temporary::make() {
  const bool folder = kind_ == Kind::folder;
  error_ = folder && ::mkdir(path_.c_str(), 0777) != 0 ? errno : 0;
  if (error_ != 0) return;
  descriptor_ = Descriptor(path_, folder ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT | O_EXCL);
  if (descriptor_.open()) return;
  error_ = errno;
  if (folder) ::rmdir(path_.c_str());
}

Temporary::~Temporary() {
  on_signal_.forget();
  if (!owned_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Temporary::release() noexcept {
  on_signal_.forget();
  owned_ = false;
}

Leftovers clear_leftovers(const std::string& output) {
  Leftovers found;
  const std::string target = output_target(output);
  std::error_code error;
  std::vector<fs::path> names;
  for (fs::directory_iterator entry(folder_of(target), error), end; !error && entry != end; entry.increment(error))
    if (is_temporary_name(entry->path().filename().string(), target)) names.push_back(entry->path());
  for (const fs::path& path : names) {
    const bool folder = fs::is_directory(fs::symlink_status(path, error));
    const Descriptor left(path.string(), O_NOFOLLOW | O_NONBLOCK | (folder ? O_RDONLY | O_DIRECTORY : O_RDWR));
    if (!left.open() || ::flock(left.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const bool absent = !fs::exists(fs::symlink_status(target, error));
    if (folder && path.extension() == ".old" && absent) {
      // Its process was killed between moving the old folder away and giving the new one its name.
      fs::rename(path, target, error);
      found.restored = !error;
      continue;
    }
    if (fs::remove_all(path, error) > 0 && !error) found.removed.push_back(path.string());
  }
  return found;
}

}  // namespace scrm
