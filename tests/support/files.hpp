/// Files of tests: a folder of their own, the bytes of a file, a disk that is full, and what an Error says.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "scrm/io/file/error.hpp"

namespace scrm::testing {

/// A folder of its own under the system's temporary folder, removed at the end.
struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "scrm-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return (path / name).string(); }
  /// Files and folders in it, hidden ones too.
  int entries() const { return static_cast<int>(std::distance(std::filesystem::directory_iterator(path), {})); }

  std::filesystem::path path;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);  // to empty an old file would wait for the disk
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Files cannot grow beyond this many bytes while it lives: what a full disk looks like to a writer.
struct SmallFiles {
  rlimit before{};
  explicit SmallFiles(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() { setrlimit(RLIMIT_FSIZE, &before); }
};

/// The message of the Error that the action throws.
template <class Action>
std::string complaint(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace scrm::testing
