/// MetadataCache: what HDF5 answered about a file when it was written. It is kept in the file's seal, so that a reader
/// need not open the file with HDF5, which takes it a millisecond and lets one thread at a time do it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hdf5/hdf5_service.hpp"

namespace scrm {

class MetadataCache {
 public:
  /// Of requests for a range of rows nothing is kept.
  void add(const Hdf5Request& request, const std::string& answer);
  std::optional<std::string> find(const Hdf5Request& request) const;

  /// Empty when there is nothing to say, or too much.
  std::string note() const;
  /// Nothing is known from a note that is not one of these.
  static MetadataCache of_note(std::string_view note);

 private:
  std::map<std::string, std::string> answers_;
};

}  // namespace scrm
