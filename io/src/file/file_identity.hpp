/// FileIdentity: tells whether a path still leads to the file that was opened, as it was.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace scrm {

struct FileIdentity {
  std::int64_t device = 0;
  std::int64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t changed = 0;  ///< nanoseconds since 1970

  bool operator==(const FileIdentity&) const = default;
};

inline FileIdentity identity_of(const struct stat& status) noexcept {
  return {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino), status.st_size,
          static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace scrm
