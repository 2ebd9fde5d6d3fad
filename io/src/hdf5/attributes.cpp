#include "hdf5/attributes.hpp"

#include <cmath>

#include "hdf5/texts.hpp"

namespace scrm {
namespace {

Place place_of(const Hdf5File& file, const char* object, const char* name) {
  const std::string owner = std::string(object) == "/" ? "" : std::string(object) + " ";
  return {.file = *file.path, .dataset = owner + "attribute " + name};
}

/// The attribute when it exists and holds exactly one value, whatever its rank.
hdf5::Handle open_single(const Hdf5File& file, const char* object, const char* name) {
  const htri_t exists = H5Aexists_by_name(file.handle.get(), object, name, H5P_DEFAULT);
  if (exists < 0) hdf5::fail(ErrorKind::data, "cannot be looked up", place_of(file, object, name));
  if (exists == 0) return {};
  hdf5::Handle attribute(H5Aopen_by_name(file.handle.get(), object, name, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) hdf5::fail(ErrorKind::data, "cannot be opened", place_of(file, object, name));
  const hdf5::Handle space(H5Aget_space(attribute.get()), H5Sclose);
  if (H5Sget_simple_extent_npoints(space.get()) != 1) {
    throw Error(ErrorKind::data, "must hold one value", place_of(file, object, name));
  }
  return attribute;
}

}  // namespace

std::optional<std::string> text_attribute(const Hdf5File& file, const char* object, const char* name) {
  const hdf5::Handle attribute = open_single(file, object, name);
  if (!attribute.valid()) return std::nullopt;
  return hdf5::read_texts(attribute.get(), place_of(file, object, name)).front();
}

std::optional<std::int64_t> integer_attribute(const Hdf5File& file, const char* object, const char* name) {
  const hdf5::Handle attribute = open_single(file, object, name);
  if (!attribute.valid()) return std::nullopt;
  const hdf5::Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const H5T_class_t type_class = H5Tget_class(type.get());
  std::int64_t value = 0;
  double real = 0;
  herr_t status = 0;
  if (type_class == H5T_INTEGER) {
    status = H5Aread(attribute.get(), H5T_NATIVE_INT64, &value);
  } else if (type_class == H5T_FLOAT) {
    status = H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &real);
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (status >= 0 && !(std::abs(real) <= kExact && std::floor(real) == real)) {
      throw Error(ErrorKind::data, "must be a whole number", place_of(file, object, name));
    }
    value = static_cast<std::int64_t>(real);
  } else {
    throw Error(ErrorKind::data, "must be a whole number", place_of(file, object, name));
  }
  if (status < 0) hdf5::fail(ErrorKind::data, "cannot be read", place_of(file, object, name));
  return value;
}

bool write_attribute(hid_t object, const char* name, std::int64_t value) {
  const hdf5::Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const hdf5::Handle attribute(H5Acreate2(object, name, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose);
  return attribute.valid() && H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value) >= 0;
}

bool write_attribute(hid_t object, const char* name, const std::string& value) {
  const hdf5::Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const hdf5::Handle type = hdf5::text_type();
  const hdf5::Handle attribute(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const char* text = value.c_str();
  return attribute.valid() && H5Awrite(attribute.get(), type.get(), &text) >= 0;
}

}  // namespace scrm
