#include "hdf5/texts.hpp"

#include <algorithm>
#include <utility>

namespace scrm::hdf5 {

Handle text_type() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  if (H5Tset_size(type.get(), H5T_VARIABLE) < 0 || H5Tset_cset(type.get(), H5T_CSET_UTF8) < 0) return {};
  return type;
}

std::vector<const char*> text_pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

std::vector<std::string> read_texts(hid_t object, const Place& place) {
  const bool attribute = H5Iget_type(object) == H5I_ATTR;
  const Handle type(attribute ? H5Aget_type(object) : H5Dget_type(object), H5Tclose);
  const Handle space(attribute ? H5Aget_space(object) : H5Dget_space(object), H5Sclose);
  if (H5Tget_class(type.get()) != H5T_STRING) throw Error(ErrorKind::data, "must hold text", place);
  // Read in the file's own character set: HDF5 refuses to turn one into the other.
  const auto read = [&](void* out) {
    const herr_t status =
        attribute ? H5Aread(object, type.get(), out) : H5Dread(object, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    if (status < 0) fail(ErrorKind::data, "cannot be read", place);
  };
  const auto count = static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.get())));
  std::vector<std::string> texts;
  if (count == 0) return texts;
  if (H5Tis_variable_str(type.get()) > 0) {
    std::vector<char*> pointers(count, nullptr);
    read(pointers.data());
    for (const char* text : pointers) texts.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data());
    return texts;
  }
  const std::size_t size = H5Tget_size(type.get());
  std::string bytes(count * size, '\0');
  read(bytes.data());
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = bytes.substr(i * size, size);
    text.resize(std::min(text.find('\0'), size));
    while (!text.empty() && text.back() == ' ') text.pop_back();  // Fortran's way of ending text
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace scrm::hdf5
