#include "shard/is_shard.hpp"

#include <memory>

#include "hdf5/hdf5_file.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

bool is_shard(const std::string& path) {
  try {
    const Hdf5File file(path, std::make_shared<BufferPool>());
    return file.text_attribute("/", "format") == "scrm-log";
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::file) throw;
    return false;
  }
}

}  // namespace scrm
