#include "encoding/encoding_learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "encoding/iso_date.hpp"
#include "file/text.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {

namespace {

bool is_number(const std::string& level) {
  const std::optional<double> value = parse_double(level);
  return value && std::isfinite(*value);
}

}  // namespace

LevelSet::LevelSet(std::string column, std::size_t most, std::string hint, std::string number_hint)
    : column_(std::move(column)), most_(most), hint_(std::move(hint)), number_hint_(std::move(number_hint)) {}

bool LevelSet::mostly_numbers() const {
  return 2 * static_cast<std::size_t>(std::count_if(levels_.begin(), levels_.end(), is_number)) > levels_.size();
}

void LevelSet::add(std::string_view text, const std::string& file) {
  text = trimmed(text);
  if (levels_.find(text) != levels_.end()) return;
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::data, fmt::format("column '{}': {}", column_, what), {.file = file});
  };
  if (levels_.size() == most_)
    fail(fmt::format("has more than {} different values; {}", most_, mostly_numbers() ? number_hint_ : hint_));
  if (text.size() > kMaxLevelBytes)
    fail(fmt::format("'{}' has {} characters, and a name has {} at most; {}", excerpt(text), text.size(),
                     kMaxLevelBytes, hint_));
  if (sanitize_utf8(text) != text)
    fail(fmt::format(
        "'{}' is not UTF-8 text; convert the file, for instance with `iconv -f latin1 -t utf-8 {} > utf8.csv`",
        sanitize_utf8(excerpt(text)), shell_word(file)));
  levels_.emplace(text);
}

void LevelSet::merge(const LevelSet& other, const std::string& file) {
  for (const std::string& level : other.levels_) add(level, file);
}

std::vector<std::string> LevelSet::sorted() const {
  std::vector<std::string> all(levels_.begin(), levels_.end());
  std::sort(all.begin(), all.end());
  if (std::all_of(all.begin(), all.end(), is_number))
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return *parse_double(a) < *parse_double(b); });
  return all;
}

ColumnLearner::ColumnLearner(const std::string& name, bool categorical, Impute impute)
    : column_{.name = name, .kind = categorical ? ColumnKind::categorical : ColumnKind::number},
      impute_(impute),
      kind_open_(!categorical),
      levels_(
          name, kMaxLevels,
          "an identifier is no category: leave the column out of --categorical and --context, or group its values",
          "most of them are numbers: name the column in --context alone, where it is one feature (--skip-bad-rows goes "
          "on without rows that hold a text there); or leave it out of both, if it is an identifier") {}

void ColumnLearner::add(std::string_view text, const std::string& file) {
  if (column_.kind != ColumnKind::categorical) return add_number(text);
  if (trimmed(text).empty())
    holes_ = true;
  else
    levels_.add(text, file);
}

void ColumnLearner::add_number(std::string_view text) {
  if (impute_ == Impute::error && !kind_open_) return;
  std::optional<double> value;
  if (column_.kind == ColumnKind::number) value = parse_double(text);
  if (!value && (kind_open_ || column_.kind == ColumnKind::date)) {
    value = parse_iso_date(text);
    if (value) column_.kind = ColumnKind::date;
  }
  if (!value || std::isnan(*value)) {
    holes_ = holes_ || is_hole(text);
    return;
  }
  kind_open_ = false;
  if (!std::isfinite(*value)) return;
  add_to_sum(*value);
  ++count_;
}

void ColumnLearner::add_to_sum(double value) noexcept {
  const double next = sum_ + value;
  carry_ += std::abs(sum_) >= std::abs(value) ? (sum_ - next) + value : (value - next) + sum_;
  sum_ = next;
}

ColumnLearner ColumnLearner::fresh() const {
  ColumnLearner copy = *this;
  copy.holes_ = false;
  copy.sum_ = copy.carry_ = 0;
  copy.count_ = 0;
  return copy;
}

void ColumnLearner::absorb_sums(ColumnLearner& other) {
  add_to_sum(std::exchange(other.sum_, 0.0));
  carry_ += std::exchange(other.carry_, 0.0);
  count_ += std::exchange(other.count_, 0);
  holes_ = holes_ || std::exchange(other.holes_, false);
}

EncodedColumn ColumnLearner::learned() const {
  EncodedColumn column = column_;
  column.levels = levels_.sorted();
  column.missing = holes_ && impute_ != Impute::error;
  const bool mean = impute_ == Impute::mean && column.kind != ColumnKind::categorical && count_ > 0;
  if (mean) column.fill = (sum_ + carry_) / static_cast<double>(count_);
  if (!std::isfinite(column.fill)) column.fill = 0;
  return column;
}

}  // namespace scrm
