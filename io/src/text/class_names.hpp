/// ClassNames: the classes of multiclass data where a file does not declare them, numbered when all rows are read.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

/// Classes are the texts that occur: numbers ascending ("1", "+1" and "1.0" are one), before other texts by alphabet.
class ClassNames {
 public:
  /// Appends a row's class, numbered by first occurrence until finish().
  void append(std::string_view text, LabelledData& data);
  /// Numbers the classes of all rows anew, in order, and names them.
  void finish(LabelledData& data) const;

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace scrm
