/// ColumnFile: an HDF5 file of one group of columns, sealed, which appears under its name when it is complete.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hdf5/hdf5_handle.hpp"
#include "hdf5/hdf5_sink.hpp"
#include "scrm/io/file/atomic_file.hpp"

namespace scrm {

/// Needs the hdf5::Lock for all its life but its destructor. The same columns in the same order give the same bytes.
class ColumnFile {
 public:
  ColumnFile(const std::string& path, const std::string& group);
  ~ColumnFile();
  ColumnFile(const ColumnFile&) = delete;
  ColumnFile& operator=(const ColumnFile&) = delete;

  hid_t root() const noexcept { return handle_.get(); }
  hid_t group() const noexcept { return group_.get(); }

  /// One value a row. HDF5 text is UTF-8 without NULs: other bytes become U+FFFD.
  void texts(const std::string& name, const std::vector<std::string>& column);
  void numbers(const std::string& name, const std::vector<double>& column);
  void integers(const std::string& name, const std::vector<std::int64_t>& column);
  /// Any other dataset of the group.
  void dataset(const std::string& name, hid_t file_type, hid_t memory_type, const std::vector<hsize_t>& shape,
               const void* data);

  /// Closes, seals and renames the file.
  void commit();

  /// Throws an Error of this file; `name` is a dataset with its group, or empty.
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;

 private:
  void check_writes(const std::string& name) const {
    if (status_.error != 0) fail(name, "cannot write");
  }

  const std::string path_;
  const std::string group_name_;
  AtomicFile file_;
  hdf5::WriteStatus status_;
  hdf5::Handle handle_;
  hdf5::Handle group_;
};

/// What every study's archive says of itself, as attributes of the root.
void write_study_facts(const ColumnFile& file, const char* format, std::int64_t seed, const std::string& version);

/// One member of every record.
template <class Record, class Value>
std::vector<Value> column_of(const std::vector<Record>& records, Value Record::*member) {
  std::vector<Value> out;
  for (const Record& record : records) out.push_back(record.*member);
  return out;
}

}  // namespace scrm
