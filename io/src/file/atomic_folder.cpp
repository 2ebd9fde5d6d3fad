#include "scrm/io/atomic_folder.hpp"

#include <filesystem>
#include <utility>

#include "file/descriptor.hpp"
#include "scrm/io/error.hpp"

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

/// Refuses whatever a rename would destroy.
void require_free(const std::string& path, const std::string& target, bool overwrite) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) fail(path, "is there already and is no folder; choose another name");
  bool empty = true;
  bool only_shards = true;
  for (fs::directory_iterator entry(target, error), end; !error && entry != end; entry.increment(error)) {
    empty = false;
    only_shards = only_shards && entry->path().extension() == ".h5" && entry->is_regular_file(error);
  }
  if (error) fail(path, "cannot look into this folder: " + error.message());
  if (empty) return;
  if (!overwrite) fail(path, "this folder is not empty; choose another one, or replace it with --overwrite");
  if (!only_shards) {
    fail(path, "this folder holds more than .h5 files and is left alone; choose another one or empty it by hand");
  }
}

}  // namespace

AtomicFolder::AtomicFolder(std::string path, bool overwrite)
    : path_(std::move(path)),
      target_(without_trailing_slash(path_)),
      temporary_(temporary_name(target_)),
      overwrite_(overwrite) {
  require_free(path_, target_, overwrite_);
  std::error_code error;
  fs::remove_all(temporary_, error);  // what a killed process of the same number may have left
  fs::create_directories(temporary_, error);
  if (error) fail(path_, "cannot make a folder here: " + error.message());
}

AtomicFolder::~AtomicFolder() {
  std::error_code error;
  if (!committed_) fs::remove_all(temporary_, error);
}

void AtomicFolder::commit() {
  require_free(path_, target_, overwrite_);
  std::error_code error;
  const std::string old = temporary_name(target_, ".old");
  const bool replaces = fs::exists(target_, error);
  if (replaces) fs::rename(target_, old, error);
  if (!error) fs::rename(temporary_, target_, error);
  if (error) {
    std::error_code ignored;
    if (replaces && !fs::exists(target_, ignored)) fs::rename(old, target_, ignored);
    fail(path_, "cannot give the folder its name: " + error.message() + "; nothing appeared under it");
  }
  committed_ = true;
  if (replaces) fs::remove_all(old, error);
}

}  // namespace scrm
