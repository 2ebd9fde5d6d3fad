#include "hdf5/attributes.hpp"

#include "hdf5/texts.hpp"

namespace scrm {

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
