#include "hdf5/attributes.hpp"

#include "hdf5/texts.hpp"

namespace scrm {
namespace {

std::string joined_lines(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : "\n") + value;
  return text;
}

bool write_number(hid_t object, const char* name, hid_t file_type, hid_t memory_type, const void* value) {
  const hdf5::Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const hdf5::Handle attribute(H5Acreate2(object, name, file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  return attribute.valid() && H5Awrite(attribute.get(), memory_type, value) >= 0;
}

}  // namespace

bool write_attribute(hid_t object, const char* name, std::int64_t value) {
  return write_number(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

bool write_attribute(hid_t object, const char* name, double value) {
  return write_number(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

bool write_attribute(hid_t object, const char* name, const std::string& value) {
  const hdf5::Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const hdf5::Handle type = hdf5::text_type();
  const hdf5::Handle attribute(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const char* text = value.c_str();
  return attribute.valid() && H5Awrite(attribute.get(), type.get(), &text) >= 0;
}

bool write_attribute(hid_t object, const char* name, const std::vector<std::string>& values) {
  // HDF5 keeps 16 bytes for each in a header of 64 KiB at most; one text lies elsewhere, however long.
  constexpr std::size_t kMostTexts = 3000;
  if (values.size() > kMostTexts) return write_attribute(object, name, joined_lines(values));
  const hsize_t count = values.size();
  const hdf5::Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const hdf5::Handle type = hdf5::text_type();
  const hdf5::Handle attribute(H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const std::vector<const char*> texts = hdf5::text_pointers(values);
  return attribute.valid() && H5Awrite(attribute.get(), type.get(), texts.data()) >= 0;
}

}  // namespace scrm
