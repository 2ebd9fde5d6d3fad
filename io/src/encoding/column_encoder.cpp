#include "encoding/column_encoder.hpp"

#include <algorithm>
#include <array>

#include "encoding/iso_date.hpp"
#include "file/text.hpp"
#include "scrm/io/file/numbers.hpp"

namespace scrm {

TextMap<int> positions_of(const std::vector<std::string>& names) {
  TextMap<int> positions;
  for (std::size_t i = 0; i < names.size(); ++i) positions.emplace(names[i], static_cast<int>(i));
  return positions;
}

bool is_hole(std::string_view text) noexcept {
  constexpr std::array<std::string_view, 9> kWords = {"", "NA", "N/A", "NULL", "null", "None", "NaN", "nan", "<NA>"};
  return std::find(kWords.begin(), kWords.end(), trimmed(text)) != kWords.end();
}

ColumnEncoder::ColumnEncoder(const EncodedColumn& column, const Encoding& encoding, bool kind_open)
    : kind_(column.kind),
      kind_open_(kind_open && column.kind != ColumnKind::categorical),
      fills_(encoding.impute != Impute::error),
      missing_(column.missing),
      fill_(column.fill),
      features_(static_cast<int>(feature_count(column, encoding))),
      levels_(positions_of(column.levels)) {
  if (kind_ != ColumnKind::categorical || encoding.unseen == UnseenLevel::error) return;
  const auto named = levels_.find("other");
  other_ = named != levels_.end() ? named->second : static_cast<int>(column.levels.size());
}

std::optional<FieldFault> ColumnEncoder::encode(std::string_view text, double* out, Substitute& substitute) {
  if (kind_ == ColumnKind::categorical) return encode_level(text, out, substitute);
  if (kind_ == ColumnKind::number) {
    // NaN is a hole where holes are filled, and else for the audit to name.
    if (const std::optional<double> value = parse_double(text); value && !(fills_ && *value != *value)) {
      kind_open_ = false;
      out[0] = *value;
      if (missing_) out[1] = 0;
      return std::nullopt;
    }
  }
  return encode_date_or_hole(text, out, substitute);
}

std::optional<FieldFault> ColumnEncoder::encode_date_or_hole(std::string_view text, double* out,
                                                             Substitute& substitute) {
  if (kind_ == ColumnKind::date || kind_open_) {
    if (const std::optional<double> value = parse_iso_date(text)) {
      kind_ = ColumnKind::date;
      kind_open_ = false;
      out[0] = *value;
      if (missing_) out[1] = 0;
      return std::nullopt;
    }
  }
  const bool hole = is_hole(text);
  if (!hole) return FieldFault::not_a_number;
  if (!fills_) return trimmed(text).empty() ? FieldFault::missing : FieldFault::not_a_number;
  substitute = Substitute::fill;
  out[0] = fill_;
  if (missing_) out[1] = 1;
  return std::nullopt;
}

std::optional<FieldFault> ColumnEncoder::encode_level(std::string_view text, double* out, Substitute& substitute) {
  std::fill_n(out, features_, 0.0);
  text = trimmed(text);
  if (text.empty() && fills_ && missing_) {
    substitute = Substitute::fill;
    out[features_ - 1] = 1;
    return std::nullopt;
  }
  if (const auto found = levels_.find(text); found != levels_.end()) {
    out[found->second] = 1;
    return std::nullopt;
  }
  if (text.empty() && !fills_) return FieldFault::missing;
  if (other_ < 0) return text.empty() ? FieldFault::missing : FieldFault::unseen_level;
  substitute = Substitute::other;
  out[other_] = 1;
  return std::nullopt;
}

}  // namespace scrm
