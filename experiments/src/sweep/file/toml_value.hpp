/// TomlValue: a value of a TOML file under its key. What is wrong with it is said with file, line and key.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "report/enum_names.hpp"

namespace scrm {

inline constexpr double kMaxNumber = std::numeric_limits<double>::max();
/// As the least of a range: zero itself is too little.
inline constexpr double kAboveZero = std::numeric_limits<double>::min();

class TomlValue {
 public:
  /// The node must outlive this.
  TomlValue(const toml::node& node, std::string key, std::string file);

  /// Throws a usage Error.
  [[noreturn]] void fail(const std::string& what) const;

  double number(double least, double most = kMaxNumber) const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  bool boolean() const;
  std::string text() const;
  bool is_text() const { return node_->is_string(); }
  bool is_list() const { return node_->is_array(); }
  /// Of a list with at least one; a value that is no list is its only item.
  std::vector<TomlValue> items() const;
  /// Different numbers, or one.
  std::vector<double> numbers(double least) const;
  /// A list of different texts.
  std::vector<std::string> names() const;
  /// Position of the text among `words`.
  std::size_t choice(const std::vector<std::string>& words) const;

  template <class Value, std::size_t count>
  Value choice(const EnumNames<Value, count>& names) const {
    std::vector<std::string> words;
    for (const EnumName<Value>& entry : names) words.emplace_back(entry.name);
    return names[choice(words)].value;
  }

 private:
  const toml::node* node_;
  std::string key_;
  std::string file_;
};

}  // namespace scrm
