#include "scrm/io/file/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "file/descriptor.hpp"
#include "file/temporary.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorKind::file, what + ": " + reason_of(error) + "; nothing appeared under this name", {.file = path});
}

/// Where the bytes will end up; refuses what a rename would destroy (devices, pipes) or cannot replace (folders).
std::string resolve_target(const std::string& path) {
  std::error_code error;
  if (path.empty()) throw Error(ErrorKind::usage, "the name of the output file is empty");
  if (fs::path(path).filename().empty())
    throw Error(ErrorKind::file, "is the name of a folder, not of a file to write", {.file = path});
  const std::string target = behind_links(path);
  if (fs::is_symlink(fs::symlink_status(target, error))) fail(path, "cannot follow this symbolic link", ELOOP);
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status))
    throw Error(ErrorKind::file, "is a folder; give the name of a file to write", {.file = path});
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw Error(ErrorKind::file, "is not a regular file and is left alone; give another name", {.file = path});
  return target;
}

/// Gives the file its name; the errno when that fails, else 0. Without `replace`, a file of that name is left alone on
/// all file systems that can see to it.
int rename_file(const std::string& from, const std::string& to, bool replace) {
  const int status = replace ? -1 : ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (status == 0) return 0;
  if (!replace && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return errno;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)),
      target_(resolve_target(path_)),
      replaces_(::access(target_.c_str(), F_OK) == 0),
      temporary_(std::make_unique<Temporary>(target_, Temporary::Kind::file)) {
  const int error = temporary_->error();
  if (error == 0) return;
  std::error_code ignored;
  if (error == ENOENT && !fs::exists(folder_of(target_), ignored))
    fail(path_, "cannot write, the folder " + folder_of(target_) + " does not exist", error);
  fail(path_, "cannot write into the folder " + folder_of(target_), error);
}

AtomicFile::~AtomicFile() = default;

const std::string& AtomicFile::temporary_path() const noexcept {
  return temporary_->path();
}

void AtomicFile::commit() {
  if (const int error = sync(temporary_->descriptor()); error != 0) fail(path_, "cannot bring the file to disk", error);
  const int error = rename_file(temporary_->path(), target_, replaces_);
  if (error == EEXIST)
    throw Error(ErrorKind::file, "another program has written a file of this name meanwhile, which is left alone",
                {.file = path_});
  if (error != 0) fail(path_, "cannot give the file its name", error);
  temporary_->release();
  sync_folder_of(target_);
}

void write_text_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  {
    const Descriptor out(file.temporary_path(), O_WRONLY);
    if (!out.open()) fail(path, "cannot write", errno);
    if (const int error = write_at(out, text, 0); error != 0) fail(path, "cannot write", error);
  }
  file.commit();
}

}  // namespace scrm
