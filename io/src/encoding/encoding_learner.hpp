/// EncodingLearner: levels, means and holes of columns, and names of actions, from one look through the records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "encoding/column_encoder.hpp"
#include "scrm/io/import/encoding.hpp"

namespace scrm {

/// The different values of a column, as many as are allowed. Beyond that an Error of kind data, so that a column of
/// millions of identifiers neither fills the memory nor makes millions of features.
class LevelSet {
 public:
  /// `hint`: what to do where there are more; `number_hint`: the same where most of them are numbers.
  LevelSet(std::string column, std::size_t most, std::string hint, std::string number_hint);

  void add(std::string_view text, const std::string& file);
  /// Adds those of another set of the same column.
  void merge(const LevelSet& other, const std::string& file);
  /// In the order of their bytes, or of their values where all are numbers.
  std::vector<std::string> sorted() const;

 private:
  bool mostly_numbers() const;

  std::string column_;
  std::size_t most_;
  std::string hint_, number_hint_;
  std::unordered_set<std::string, TextHash, std::equal_to<>> levels_;
};

/// What one context column turned out to hold.
class ColumnLearner {
 public:
  ColumnLearner(const std::string& name, bool categorical, Impute impute);

  void add(std::string_view text, const std::string& file);
  EncodedColumn learned() const;

  /// Whether it is known what the values are.
  bool kind_known() const noexcept { return !kind_open_; }
  /// One that knows what the values are, and has seen none of them.
  ColumnLearner fresh() const;
  /// Adds the sums of another, of later records, and sets those back.
  void absorb_sums(ColumnLearner& other);
  /// Adds the levels of another.
  void merge_levels(const ColumnLearner& other, const std::string& file) { levels_.merge(other.levels_, file); }

 private:
  void add_number(std::string_view text);
  void add_to_sum(double value) noexcept;

  EncodedColumn column_;
  Impute impute_;
  bool kind_open_;
  LevelSet levels_;
  bool holes_ = false;
  // A mean with its rounding carried along: the same whatever the magnitude of the values.
  double sum_ = 0, carry_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace scrm
