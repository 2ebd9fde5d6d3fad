#include "hdf5/hdf5_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "scrm/io/path_checks.hpp"

namespace scrm {

Hdf5File::~Hdf5File() {
  if (handle.valid()) {
    const hdf5::Lock lock;
    handle.reset();
  }
}

Hdf5File open_hdf5_file(const std::string& path, std::shared_ptr<BufferPool> pool) {
  const hdf5::Lock lock;
  Hdf5File file;
  file.path = std::make_shared<const std::string>(path);
  file.pool = std::move(pool);
  const Place place{.file = path};
  require_file(path);
  file.descriptor = std::make_shared<const Descriptor>(path, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  if (!file.descriptor->open() || ::fstat(file.descriptor->get(), &status) != 0) {
    throw Error(ErrorKind::file, std::string("cannot be opened: ") + std::strerror(errno), place);
  }
  if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::file, "is not a file", place);
  file.bytes = status.st_size;
  if (file.bytes == 0) throw Error(ErrorKind::data, "is empty", place);

  const hdf5::Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // File systems that know no locks are common enough for data; reading does not depend on them.
  H5Pset_file_locking(access.get(), true, true);
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  file.handle = hdf5::Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file.handle.valid()) {
    const std::string why = hdf5::take_error_text();
    if (H5Fis_hdf5(path.c_str()) == 0) throw Error(ErrorKind::data, "is not an HDF5 file", place);
    throw Error(ErrorKind::data, "cannot be opened, it is damaged or was cut short: " + why, place);
  }
  const hdf5::Handle creation(H5Fget_create_plist(file.handle.get()), H5Pclose);
  hsize_t user_block = 0;
  file.has_file_addresses = H5Pget_userblock(creation.get(), &user_block) >= 0 && user_block == 0;
  return file;
}

H5O_type_t object_type(const Hdf5File& file, const std::string& name) {
  if (H5Lexists(file.handle.get(), name.c_str(), H5P_DEFAULT) <= 0) return H5O_TYPE_UNKNOWN;
  H5O_info_t info;
  if (H5Oget_info_by_name2(file.handle.get(), name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    hdf5::fail(ErrorKind::data, "cannot be opened", {.file = *file.path, .dataset = name});
  }
  return info.type;
}

}  // namespace scrm
