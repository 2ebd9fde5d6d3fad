#include "archive/column_file.hpp"

#include "hdf5/attributes.hpp"

#include <cstring>

#include "file/text.hpp"
#include "hdf5/seal.hpp"
#include "hdf5/texts.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

ColumnFile::ColumnFile(const std::string& path, const std::string& group)
    : path_(path), group_name_(group), file_(path) {
  handle_ = hdf5::create_file(file_.temporary_path(), status_);
  if (!handle_.valid()) fail("", "cannot write");
  const hdf5::Handle properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  if (H5Pset_obj_track_times(properties.get(), false) < 0) fail(group_name_, "cannot be set up");
  group_ = hdf5::Handle(H5Gcreate2(handle_.get(), group.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Gclose);
  if (!group_.valid()) fail(group_name_, "cannot be created");
}

ColumnFile::~ColumnFile() {
  const hdf5::Lock lock;
  group_.reset();
  handle_.reset();
  H5Eclear2(H5E_DEFAULT);
}

void ColumnFile::fail(const std::string& name, const std::string& what) const {
  const std::string message = what + ", nothing appeared under this name";
  const Place place{.file = path_, .dataset = name};
  if (status_.error == 0) hdf5::fail(ErrorKind::file, message, place);
  throw Error(ErrorKind::file, message + ": " + std::strerror(status_.error) + "; free some space and try again",
              place);
}

void ColumnFile::dataset(const std::string& name, hid_t file_type, hid_t memory_type, const std::vector<hsize_t>& shape,
                         const void* data) {
  const std::string full_name = group_name_ + "/" + name;
  const hdf5::Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  // Without times, the same rows give the same file.
  if (H5Pset_obj_track_times(properties.get(), false) < 0) fail(full_name, "cannot be set up");
  const hdf5::Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
  const hdf5::Handle dataset(
      H5Dcreate2(group_.get(), name.c_str(), file_type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose);
  if (!dataset.valid()) fail(full_name, "cannot be created");
  if (H5Sget_simple_extent_npoints(space.get()) > 0 &&
      H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
    fail(full_name, "cannot write");
  check_writes(full_name);
}

void ColumnFile::texts(const std::string& name, const std::vector<std::string>& column) {
  std::vector<std::string> clean;
  for (const std::string& text : column) clean.push_back(sanitize_utf8(text));
  const hdf5::Handle type = hdf5::text_type();
  dataset(name, type.get(), type.get(), {clean.size()}, hdf5::text_pointers(clean).data());
}

void ColumnFile::numbers(const std::string& name, const std::vector<double>& column) {
  dataset(name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {column.size()}, column.data());
}

void ColumnFile::integers(const std::string& name, const std::vector<std::int64_t>& column) {
  dataset(name, H5T_STD_I64LE, H5T_NATIVE_INT64, {column.size()}, column.data());
}

void ColumnFile::commit() {
  if (H5Fflush(handle_.get(), H5F_SCOPE_LOCAL) < 0) fail("", "cannot bring the archive to disk");
  const bool good = group_.reset();
  if (!handle_.reset() || !good) fail("", "cannot finish the archive");
  check_writes("");
  status_.error = append_seal(file_.temporary_path(), {});
  check_writes("");
  file_.commit();
}

void write_study_facts(const ColumnFile& file, const char* format, std::int64_t seed, const std::string& version) {
  constexpr std::int64_t kFormatVersion = 1;
  const hid_t root = file.root();
  if (!write_attribute(root, "format", std::string(format)) ||
      !write_attribute(root, "format_version", kFormatVersion) || !write_attribute(root, "seed", seed) ||
      !write_attribute(root, "version", version)) {
    file.fail("", "cannot write the attributes");
  }
}

}  // namespace scrm
