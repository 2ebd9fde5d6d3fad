#include "scrm/io/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "file/descriptor.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorKind::file, what + ": " + std::strerror(error) + "; nothing appeared under this name",
              {.file = path});
}

/// Where the bytes will end up; refuses what a rename would destroy (devices, pipes) or cannot replace (folders).
std::string resolve_target(const std::string& path) {
  std::error_code error;
  if (path.empty()) throw Error(ErrorKind::usage, "the name of the output file is empty");
  if (fs::path(path).filename().empty())
    throw Error(ErrorKind::file, "is the name of a folder, not of a file to write", {.file = path});
  std::string target = path;
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    target = fs::weakly_canonical(path, error).string();
    if (error) fail(path, "cannot follow this symbolic link", error.value());
  }
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status))
    throw Error(ErrorKind::file, "is a folder; give the name of a file to write", {.file = path});
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw Error(ErrorKind::file, "is not a regular file and is left alone; give another name", {.file = path});
  return target;
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), target_(resolve_target(path_)), temporary_(temporary_name(target_)) {
  const Descriptor reserved(temporary_, O_WRONLY | O_CREAT | O_EXCL);
  if (reserved.open()) return;
  const int error = errno;
  if (error == ENOENT) fail(path_, "cannot write, the folder " + folder_of(target_) + " does not exist", error);
  fail(path_, "cannot write into the folder " + folder_of(target_), error);
}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(temporary_.c_str());
}

void AtomicFile::commit() {
  {
    const Descriptor file(temporary_, O_RDONLY);
    if (!file.open() || ::fsync(file.get()) != 0) fail(path_, "cannot bring the file to disk", errno);
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(path_, "cannot give the file its name", errno);
  committed_ = true;
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
