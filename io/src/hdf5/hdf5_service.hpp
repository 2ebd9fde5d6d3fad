/// Hdf5Service: everything that is asked of HDF5 about files to read, as requests and answers of plain bytes, so that
/// it can be asked in this process or in another one.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "file/descriptor.hpp"
#include "file/file_identity.hpp"
#include "hdf5/hdf5_handle.hpp"

namespace scrm {

enum class Hdf5Query : std::int64_t {
  attribute,        ///< AttributeValue of `name` at `object`
  attribute_names,  ///< names of all attributes of `object`
  object,           ///< ObjectType of `object`
  members,          ///< names in the group `object`
  array,            ///< ArrayFacts of the dataset `object`
  rows,             ///< numbers of rows [first, first + count), in the machine's own order
  chunks,           ///< what read_chunks() gives of chunks [first, first + count)
  shape,            ///< of any dataset
  texts,            ///< all texts of a dataset
  numbers,          ///< all numbers of a dataset as doubles
  integers,         ///< all numbers of a dataset of integers
  lists,            ///< all lists of doubles of a dataset
};

struct Hdf5Request {
  Hdf5Query query = Hdf5Query::object;
  std::string path;
  FileIdentity identity;
  std::string object;
  std::string name;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

std::string serialize_request(const Hdf5Request& request);
/// Throws an Error when the bytes are none.
Hdf5Request deserialize_request(std::string_view bytes);

enum class ObjectType : std::int64_t { none, group, dataset, other };

/// What is stored as an attribute; the lists are empty but for the one its type fills.
struct AttributeValue {
  bool exists = false;
  std::int64_t count = 0;
  std::vector<std::string> texts;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;

  template <class Value, class Direction>
  static void each_field(Value& value, Direction& direction) {
    direction.field(value.exists);
    direction.field(value.count);
    direction.field(value.texts);
    direction.field(value.integers);
    direction.field(value.reals);
  }
};

/// A file that HDF5 has open, and those of its datasets that were asked about.
struct OpenHdf5 {
  hdf5::Handle handle;
  bool has_file_addresses = true;  ///< whether HDF5's addresses are the file's (they are not behind a user block)
  std::map<std::string, hdf5::Handle> datasets = {};
};

/// Throws an Error that names file and dataset. Needs the hdf5::Lock.
std::string answer_about(OpenHdf5& file, const Hdf5Request& request);

/// Keeps the files it was asked about last open.
class Hdf5Service {
 public:
  ~Hdf5Service();

  /// Throws an Error that names file and dataset. Takes the hdf5::Lock.
  std::string answer(const Hdf5Request& request);
  /// They are opened again when they are asked about. Takes the hdf5::Lock.
  void close_files();

 private:
  struct OpenFile {
    std::string path;
    FileIdentity identity;
    OpenHdf5 hdf5 = {};
  };

  OpenFile& open(const Hdf5Request& request);

  std::list<OpenFile> files_;  ///< last used first
  std::size_t most_open_ = files_kept_open();
};

}  // namespace scrm
