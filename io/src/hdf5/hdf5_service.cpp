#include "hdf5/hdf5_service.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "array/array_reading.hpp"
#include "file/fields.hpp"
#include "hdf5/texts.hpp"

namespace scrm {
namespace {

// Of texts, names and numbers that are asked for as a whole.
constexpr std::int64_t kMostValues = std::int64_t{1} << 27;

template <class Request, class Direction>
void each_field(Request& request, Direction& direction) {
  direction.field(request.path);
  direction.field(request.identity.device);
  direction.field(request.identity.inode);
  direction.field(request.identity.bytes);
  direction.field(request.identity.changed);
  direction.field(request.object);
  direction.field(request.name);
  direction.field(request.first);
  direction.field(request.count);
}

template <class T>
std::string serialized(const T& value) {
  FieldWriter writer;
  writer.field(value);
  return std::move(writer.bytes);
}

Place place_of(const Hdf5Request& request) {
  if (request.query != Hdf5Query::attribute) return {.file = request.path, .dataset = request.object};
  const std::string owner = request.object == "/" ? "" : request.object + " ";
  return {.file = request.path, .dataset = owner + "attribute " + request.name};
}

/// Throws when there are more values than a file of this size can hold: they must not be allocated.
std::size_t count_values(hid_t space, const Hdf5Request& request) {
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  // Deflate makes nothing smaller than a thousandth.
  const std::int64_t most = std::min(kMostValues, 1100 * request.identity.bytes);
  if (count < 0 || count > most)
    throw Error(
        ErrorKind::data,
        fmt::format("cannot have {} values in a file of {} bytes; it is damaged", count, request.identity.bytes),
        place_of(request));
  return static_cast<std::size_t>(count);
}

AttributeValue read_attribute(hid_t file, const Hdf5Request& request) {
  AttributeValue value;
  const htri_t exists = H5Aexists_by_name(file, request.object.c_str(), request.name.c_str(), H5P_DEFAULT);
  if (exists < 0) hdf5::fail(ErrorKind::data, "cannot be looked up", place_of(request));
  if (exists == 0) return value;
  value.exists = true;
  const hdf5::Handle attribute(
      H5Aopen_by_name(file, request.object.c_str(), request.name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) hdf5::fail(ErrorKind::data, "cannot be opened", place_of(request));
  const hdf5::Handle space(H5Aget_space(attribute.get()), H5Sclose);
  const hdf5::Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const std::size_t count = count_values(space.get(), request);
  value.count = static_cast<std::int64_t>(count);
  herr_t status = 0;
  switch (H5Tget_class(type.get())) {
    case H5T_STRING:
      value.texts = hdf5::read_texts(attribute.get(), place_of(request));
      break;
    case H5T_INTEGER:
      value.integers.resize(count);
      if (count > 0) status = H5Aread(attribute.get(), H5T_NATIVE_INT64, value.integers.data());
      break;
    case H5T_FLOAT:
      value.reals.resize(count);
      if (count > 0) status = H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, value.reals.data());
      break;
    default:
      break;
  }
  if (status < 0) hdf5::fail(ErrorKind::data, "cannot be read", place_of(request));
  return value;
}

std::vector<std::string> attribute_names(hid_t file, const Hdf5Request& request) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->emplace_back(name);
    return 0;
  };
  hsize_t start = 0;
  if (H5Aiterate_by_name(file, request.object.c_str(), H5_INDEX_NAME, H5_ITER_INC, &start, collect, &names,
                         H5P_DEFAULT) < 0)
    hdf5::fail(ErrorKind::data, "its attributes cannot be listed", place_of(request));
  return names;
}

std::vector<std::string> member_names(hid_t file, const Hdf5Request& request) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->emplace_back(name);
    return 0;
  };
  hsize_t start = 0;
  if (H5Literate_by_name(file, request.object.c_str(), H5_INDEX_NAME, H5_ITER_INC, &start, collect, &names,
                         H5P_DEFAULT) < 0)
    hdf5::fail(ErrorKind::data, "cannot be listed", place_of(request));
  return names;
}

/// Whether there is such a name; every group on the way must be there too.
bool has_link(hid_t file, const std::string& name) {
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (slash > 0 && H5Lexists(file, name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0;
}

ObjectType object_type(hid_t file, const Hdf5Request& request) {
  if (!has_link(file, request.object)) return ObjectType::none;
  H5O_info_t info;
  if (H5Oget_info_by_name2(file, request.object.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
    hdf5::fail(ErrorKind::data, "cannot be looked up", place_of(request));
  switch (info.type) {
    case H5O_TYPE_GROUP:
      return ObjectType::group;
    case H5O_TYPE_DATASET:
      return ObjectType::dataset;
    default:
      return ObjectType::other;
  }
}

std::vector<std::int64_t> read_shape(hid_t dataset, const Hdf5Request& request) {
  const hdf5::Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  hsize_t extent[H5S_MAX_RANK] = {};
  if (rank < 0 || H5Sget_simple_extent_dims(space.get(), extent, nullptr) < 0)
    hdf5::fail(ErrorKind::data, "cannot tell its shape", place_of(request));
  return {extent, extent + rank};
}

template <class T>
std::vector<T> read_numbers(hid_t dataset, hid_t memory_type, const Hdf5Request& request) {
  const hdf5::Handle space(H5Dget_space(dataset), H5Sclose);
  const hdf5::Handle type(H5Dget_type(dataset), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  const bool real = std::is_floating_point_v<T>;
  if (kind != H5T_INTEGER && !(real && kind == H5T_FLOAT))
    throw Error(ErrorKind::data, real ? "must hold numbers" : "must hold whole numbers", place_of(request));
  std::vector<T> values(count_values(space.get(), request));
  if (!values.empty() && H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    hdf5::fail(ErrorKind::data, "cannot be read", place_of(request));
  return values;
}

std::vector<std::vector<double>> read_lists(hid_t dataset, const Hdf5Request& request) {
  const hdf5::Handle space(H5Dget_space(dataset), H5Sclose);
  const hdf5::Handle stored(H5Dget_type(dataset), H5Tclose);
  const hdf5::Handle base(H5Tget_class(stored.get()) == H5T_VLEN ? H5Tget_super(stored.get()) : -1, H5Tclose);
  if (!base.valid() || H5Tget_class(base.get()) != H5T_FLOAT)
    throw Error(ErrorKind::data, "must hold lists of numbers", place_of(request));
  const hdf5::Handle type(H5Tvlen_create(H5T_NATIVE_DOUBLE), H5Tclose);
  std::vector<hvl_t> values(count_values(space.get(), request));
  if (!values.empty() && H5Dread(dataset, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    hdf5::fail(ErrorKind::data, "cannot be read", place_of(request));
  std::vector<std::vector<double>> lists;
  for (const hvl_t& value : values) {
    const auto* first = static_cast<const double*>(value.p);
    lists.emplace_back(first, first + value.len);
  }
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, values.data());
  return lists;
}

hdf5::Handle open_file(const Hdf5Request& request) {
  const hdf5::Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // File systems that know no locks are common enough for data; reading does not depend on them.
  H5Pset_file_locking(access.get(), true, true);
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  hdf5::Handle file(H5Fopen(request.path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (file.valid()) return file;
  const std::string why = hdf5::take_error_text();
  const Place place{.file = request.path};
  // HDF5 calls everything damaged that it may not open.
  if (const Descriptor again(request.path, O_RDONLY | O_NONBLOCK); !again.open())
    throw Error(ErrorKind::file, "cannot be opened: " + reason_of(errno), place);
  if (H5Fis_hdf5(request.path.c_str()) == 0) throw Error(ErrorKind::data, "is not an HDF5 file", place);
  throw Error(ErrorKind::data, "cannot be opened, it is damaged or was cut short: " + why, place);
}

}  // namespace

std::string serialize_request(const Hdf5Request& request) {
  FieldWriter writer;
  writer.field(static_cast<std::int64_t>(request.query));
  each_field(request, writer);
  return std::move(writer.bytes);
}

Hdf5Request deserialize_request(std::string_view bytes) {
  Hdf5Request request;
  std::int64_t query = 0;
  FieldReader reader(bytes);
  reader.field(query);
  each_field(request, reader);
  if (!reader.good()) throw Error(ErrorKind::run, "this is no query about an HDF5 file");
  request.query = static_cast<Hdf5Query>(query);
  return request;
}

Hdf5Service::~Hdf5Service() {
  close_files();
}

void Hdf5Service::close_files() {
  const hdf5::Lock lock;
  files_.clear();
}

Hdf5Service::OpenFile& Hdf5Service::open(const Hdf5Request& request) {
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const OpenFile& file) {
    return file.path == request.path && file.identity == request.identity;
  });
  if (found != files_.end()) {
    files_.splice(files_.begin(), files_, found);
    return files_.front();
  }
  // HDF5 would give the old content of a file that was written over while it was open.
  files_.remove_if([&](const OpenFile& file) {
    return file.identity.device == request.identity.device && file.identity.inode == request.identity.inode;
  });
  while (files_.size() >= most_open_) files_.pop_back();
  OpenFile file;
  file.path = request.path;
  file.identity = request.identity;
  file.hdf5.handle = open_file(request);
  struct stat status {};
  if (::stat(request.path.c_str(), &status) != 0 || identity_of(status) != request.identity)
    throw Error(ErrorKind::data, "was replaced or written to while it was read", {.file = request.path});
  const hdf5::Handle creation(H5Fget_create_plist(file.hdf5.handle.get()), H5Pclose);
  hsize_t user_block = 0;
  file.hdf5.has_file_addresses = H5Pget_userblock(creation.get(), &user_block) >= 0 && user_block == 0;
  files_.push_front(std::move(file));
  return files_.front();
}

std::string Hdf5Service::answer(const Hdf5Request& request) {
  const hdf5::Lock lock;
  return answer_about(open(request).hdf5, request);
}

std::string answer_about(OpenHdf5& file, const Hdf5Request& request) {
  const hid_t root = file.handle.get();
  switch (request.query) {
    case Hdf5Query::attribute: {
      FieldWriter writer;
      const AttributeValue value = read_attribute(root, request);
      AttributeValue::each_field(value, writer);
      return std::move(writer.bytes);
    }
    case Hdf5Query::attribute_names:
      return serialized(attribute_names(root, request));
    case Hdf5Query::object:
      return serialized(static_cast<std::int64_t>(object_type(root, request)));
    case Hdf5Query::members:
      return serialized(member_names(root, request));
    default:
      break;
  }
  hdf5::Handle& dataset = file.datasets[request.object];
  if (!dataset.valid()) dataset = hdf5::open_dataset(root, place_of(request));
  switch (request.query) {
    case Hdf5Query::array:
      return serialize_facts(hdf5::read_facts(dataset.get(), file.has_file_addresses, place_of(request)));
    case Hdf5Query::rows:
      return hdf5::read_rows(dataset.get(), request.first, request.count, place_of(request));
    case Hdf5Query::chunks:
      return hdf5::read_chunks(dataset.get(), request.first, request.count, request.identity.bytes, place_of(request));
    case Hdf5Query::shape:
      return serialized(read_shape(dataset.get(), request));
    case Hdf5Query::texts: {
      const hdf5::Handle space(H5Dget_space(dataset.get()), H5Sclose);
      count_values(space.get(), request);
      return serialized(hdf5::read_texts(dataset.get(), place_of(request)));
    }
    case Hdf5Query::numbers:
      return serialized(read_numbers<double>(dataset.get(), H5T_NATIVE_DOUBLE, request));
    case Hdf5Query::integers:
      return serialized(read_numbers<std::int64_t>(dataset.get(), H5T_NATIVE_INT64, request));
    case Hdf5Query::lists:
      return serialized(read_lists(dataset.get(), request));
    default:
      throw Error(ErrorKind::run, "this is no query about an HDF5 file");
  }
}

}  // namespace scrm
