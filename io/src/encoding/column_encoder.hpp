/// ColumnEncoder: the text of a field as the numbers an Encoding makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scrm/io/import/encoding.hpp"

namespace scrm {

/// Finds names without making strings of what is looked for.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};
template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// Positions of names.
TextMap<int> positions_of(const std::vector<std::string>& names);

/// Whether a field of a column of numbers or dates holds no value: blank, or NA, N/A, NULL, None, NaN as programs write
/// it. A level can be any of these words ("NA" is a country), so that there only a blank field is a hole.
bool is_hole(std::string_view text) noexcept;

/// Why a field could not be encoded.
enum class FieldFault : std::uint8_t { missing, not_a_number, unseen_level };

/// What stands in a row where the field has no value that the encoding knows.
enum class Substitute : std::uint8_t {
  none,
  fill,  ///< of a hole
  other  ///< of a level that is not listed
};

/// One column of an encoding. `kind_open`: the first value says whether these are numbers or dates.
class ColumnEncoder {
 public:
  ColumnEncoder(const EncodedColumn& column, const Encoding& encoding, bool kind_open);

  int features() const noexcept { return features_; }
  ColumnKind kind() const noexcept { return kind_; }
  bool kind_open() const noexcept { return kind_open_; }

  /// Writes features() numbers, or says why not. `substitute` is set where something stands for the field.
  std::optional<FieldFault> encode(std::string_view text, double* out, Substitute& substitute);

 private:
  std::optional<FieldFault> encode_level(std::string_view text, double* out, Substitute& substitute);
  std::optional<FieldFault> encode_date_or_hole(std::string_view text, double* out, Substitute& substitute);

  ColumnKind kind_;
  bool kind_open_;
  bool fills_;
  bool missing_;
  double fill_;
  int features_;
  int other_ = -1;  // the feature of levels that are not listed; -1: they are faults
  TextMap<int> levels_;
};

}  // namespace scrm
