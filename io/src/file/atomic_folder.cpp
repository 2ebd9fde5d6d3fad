#include "scrm/io/file/atomic_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "file/descriptor.hpp"
#include "file/temporary.hpp"
#include "scrm/io/file/error.hpp"
#include "shard/is_shard.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw Error(ErrorKind::file, message, {.file = path});
}

std::string without_trailing_slash(const std::string& path) {
  if (path.empty()) throw Error(ErrorKind::usage, "the name of the output folder is empty");
  fs::path name = fs::absolute(path).lexically_normal();
  if (name.filename().empty()) name = name.parent_path();
  return name.string();
}

bool is_named_as_shard(const fs::path& path) {
  std::error_code error;
  return path.extension() == ".h5" && fs::is_regular_file(path, error);
}

/// Refuses whatever a rename would destroy.
void require_free(const std::string& path, const std::string& target, bool overwrite) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (!fs::exists(status)) return;
  if (fs::is_symlink(status))
    fail(path, "is a symbolic link and is left alone; give the folder itself, or another name");
  if (!fs::is_directory(status)) fail(path, "is there already and is no folder; choose another name");
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(target, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  if (error) fail(path, "cannot look into this folder: " + error.message());
  if (entries.empty()) return;
  if (!overwrite) fail(path, "this folder is not empty; choose another one, or replace it with --overwrite");
  std::sort(entries.begin(), entries.end());
  // Other names first: no file needs to be opened to tell them.
  std::stable_partition(entries.begin(), entries.end(),
                        [](const fs::path& entry) { return !is_named_as_shard(entry); });
  for (const fs::path& entry : entries) {
    if (is_named_as_shard(entry) && is_shard(entry.string())) continue;
    fail(path, fmt::format("this folder holds {}, which is no shard of logged rows, and is left alone; choose another "
                           "one or empty it by hand",
                           entry.filename().string()));
  }
}

}  // namespace

AtomicFolder::AtomicFolder(std::string path, bool overwrite)
    : path_(std::move(path)), target_(without_trailing_slash(path_)), overwrite_(overwrite) {
  require_free(path_, target_, overwrite_);
  std::error_code error;
  fs::create_directories(folder_of(target_), error);
  if (error) fail(path_, "cannot make a folder here: " + error.message());
  temporary_ = std::make_unique<Temporary>(target_, Temporary::Kind::folder);
  if (temporary_->error() != 0)
    fail(path_, fmt::format("cannot make a folder here: {}", reason_of(temporary_->error())));
}

AtomicFolder::~AtomicFolder() = default;

const std::string& AtomicFolder::temporary_path() const noexcept {
  return temporary_->path();
}

void AtomicFolder::write(const std::function<void()>& action) const {
  try {
    action();
  } catch (const Error& error) {
    std::string text = error.what();
    std::string file = error.place().file;
    const std::string final_path = fs::path(path_).filename().empty() ? path_.substr(0, path_.size() - 1) : path_;
    for (std::string* part : {&text, &file})
      for (std::size_t at = 0; (at = part->find(temporary_path(), at)) != std::string::npos; at += final_path.size())
        part->replace(at, temporary_path().size(), final_path);
    if (text == error.what()) throw;
    const std::string head = file + ": ";
    if (text.rfind(head, 0) == 0) throw Error(error.kind(), text.substr(head.size()), {.file = file});
    throw Error(error.kind(), text);
  }
}

void AtomicFolder::fail_naming(int error) const {
  fail(path_, fmt::format("cannot give the folder its name: {}; nothing appeared under it", std::strerror(error)));
}

void AtomicFolder::commit() {
  require_free(path_, target_, overwrite_);
  // A rename takes the place of nothing and of an empty folder.
  if (::rename(temporary_path().c_str(), target_.c_str()) == 0) {
    temporary_->release();
  } else if (errno == ENOTEMPTY || errno == EEXIST) {
    replace();
  } else {
    fail_naming(errno);
  }
  sync_folder_of(target_);
}

void AtomicFolder::replace() {
  // Locked until it is gone, so that nobody else takes it for a leftover.
  const Descriptor old_folder(target_, O_RDONLY | O_DIRECTORY);
  if (old_folder.open()) ::flock(old_folder.get(), LOCK_SH | LOCK_NB);
  const std::string& made = temporary_path();
  std::string old = made;
  // Once exchanged, the temporary name is that of the old folder: a signal that removes it is right before and after.
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
    int error = errno;
    const bool unknown = error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
    old = temporary_name(target_, ".old");
    temporary_->release();  // until it has the name, it and the old folder are all there is
    if (unknown) error = ::rename(target_.c_str(), old.c_str()) == 0 ? 0 : errno;
    if (unknown && error == 0 && ::rename(made.c_str(), target_.c_str()) != 0) {
      error = errno;
      ::rename(old.c_str(), target_.c_str());
    }
    if (error != 0) {
      std::error_code ignored;
      fs::remove_all(made, ignored);
      fail_naming(error);
    }
  }
  RemovedOnSignal on_signal;
  on_signal.remember(old.c_str(), true);
  temporary_->release();
  std::error_code ignored;
  fs::remove_all(old, ignored);
}

}  // namespace scrm
