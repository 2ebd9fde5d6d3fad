/// What the fuzz targets share: the entry point, the input as a file, and what an input is allowed to do.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "scrm/io/file/error.hpp"

/// One input. libFuzzer calls it, or driver.cpp.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace scrm::fuzzing {

/// A folder of this process, in memory where the system has such a place, gone when the process ends.
inline const std::filesystem::path& folder() {
  struct Folder {
    Folder() {
      const char* base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
      std::string name = std::string(base) + "/scrm-fuzz-XXXXXX";
      if (mkdtemp(name.data()) == nullptr) std::abort();
      path = name;
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::filesystem::path path;
  };
  static const Folder made;
  return made.path;
}

inline std::string path_of(const std::string& name) {
  return (folder() / name).string();
}

/// Writes the bytes to a file of this name and returns its path.
inline std::string write_file(const std::string& name, std::string_view bytes) {
  const std::string path = path_of(name);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process where what was read back is not what was written.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: not so: %s\n", what);
  std::abort();
}

/// An input may be read, or refused with an Error. Anything else (a crash, a hang, another exception, more memory than
/// it is worth) is a defect and ends the process. Returns whether it was read.
template <class Work>
bool read_or_refused(Work&& work) {
  try {
    work();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace scrm::fuzzing
