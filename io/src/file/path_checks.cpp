#include "scrm/io/file/path_checks.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <filesystem>
#include <map>
#include <utility>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

using FileId = std::pair<dev_t, ino_t>;

/// Every file and folder a path stands for, links followed, by the name that leads to it.
std::map<FileId, std::string> files_of(const std::string& path) {
  std::map<FileId, std::string> found;
  const auto add = [&found](const std::string& name) {
    struct stat status {};
    if (::stat(name.c_str(), &status) == 0) found.emplace(FileId{status.st_dev, status.st_ino}, name);
  };
  add(path);
  std::error_code error;
  if (!fs::is_directory(path, error)) return found;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".h5") add(entry->path().string());
  return found;
}

bool is_anonymous_pipe(const std::string& path) {
  struct statfs system {};
  return ::statfs(path.c_str(), &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

}  // namespace

void require_file(const std::string& input) {
  struct stat status {};
  if (::stat(input.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return;
  if (S_ISFIFO(status.st_mode) && is_anonymous_pipe(input)) return;
  const char* const what = S_ISFIFO(status.st_mode)   ? "a named pipe"
                           : S_ISSOCK(status.st_mode) ? "a socket"
                                                      : "a device";
  throw Error(ErrorKind::file, fmt::format("is {}, not a file, and is not waited for; give a file", what),
              {.file = input});
}

void require_distinct(const std::vector<std::string>& inputs) {
  std::map<FileId, std::string> seen;
  for (const std::string& input : inputs) {
    struct stat status {};
    if (::stat(input.c_str(), &status) != 0) continue;
    const auto [first, is_new] = seen.emplace(FileId{status.st_dev, status.st_ino}, input);
    if (is_new) continue;
    const std::string how = first->second == input ? "is given twice" : "is the same file as " + first->second;
    throw Error(ErrorKind::usage, how + ", and its rows would count twice; give every file once", {.file = input});
  }
}

void require_not_input(const std::string& output, const std::vector<std::string>& inputs) {
  std::map<FileId, std::string> written = files_of(output);
  // A folder is written under its name without "..", which leads elsewhere where a folder on the way is missing.
  written.merge(files_of(fs::absolute(output).lexically_normal().string()));
  for (const std::string& input : inputs) {
    for (const auto& [id, name] : files_of(input)) {
      const auto same = written.find(id);
      if (same == written.end()) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("is what {} reads too ({}), and would be lost; write elsewhere",
                              same->second == output ? "this command" : "this command, in this folder,", name),
                  {.file = output});
    }
  }
}

void require_replaceable(const std::string& output, bool overwrite) {
  std::error_code error;
  if (fs::is_directory(output, error))
    throw Error(ErrorKind::file, "is a folder; give the name of a file to write", {.file = output});
  if (overwrite) return;
  const fs::file_status status = fs::symlink_status(output, error);
  if (fs::is_symlink(status))
    throw Error(ErrorKind::file,
                fmt::format("is a symbolic link to {}; --overwrite writes to what it points to",
                            fs::read_symlink(output, error).string()),
                {.file = output});
  if (fs::exists(status)) throw Error(ErrorKind::file, "is there already; --overwrite replaces it", {.file = output});
}

}  // namespace scrm
