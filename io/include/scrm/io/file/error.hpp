/// Error: the one exception of scrm, with a kind and the place (file, dataset, row) it is about.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace scrm {

enum class ErrorKind {
  usage,   ///< the caller asked for something that makes no sense: exit code 2
  data,    ///< the data or a file's content is wrong
  file,    ///< a file cannot be opened, read or written
  memory,  ///< the memory budget does not allow it
  run,     ///< the computation failed
};

/// Where an error is; empty parts do not apply.
struct Place {
  std::string file = {};
  std::string dataset = {};
  std::optional<std::int64_t> row = {};  ///< zero-based, as h5py counts
};

/// what() reads "file: dataset, row N: message", with the parts of the place that are known.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, Place place = {});

  ErrorKind kind() const noexcept { return kind_; }
  const Place& place() const noexcept { return place_; }

 private:
  ErrorKind kind_;
  Place place_;
};

}  // namespace scrm
