// labels: fast io
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "encoding/column_encoder.hpp"
#include "encoding/encoding_learner.hpp"
#include "encoding/iso_date.hpp"
#include "scrm/io/import/encoding.hpp"
#include "support/files.hpp"

namespace {

using namespace scrm;
using testing::complaint;
using testing::holds;

std::vector<double> encoded(ColumnEncoder& encoder, const std::string& text) {
  std::vector<double> out(static_cast<std::size_t>(encoder.features()), -1);
  Substitute substitute = Substitute::none;
  const auto fault = encoder.encode(text, out.data(), substitute);
  if (fault) return {100.0 + static_cast<double>(*fault)};
  return out;
}

std::vector<double> fault(FieldFault reason) {
  return {100.0 + static_cast<double>(reason)};
}

/// What the file of an encoding says when it is read.
std::string reading_complaint(const std::string& text) {
  const testing::Folder folder;
  testing::write_bytes(folder / "e.toml", text);
  return complaint([&] { read_encoding(folder / "e.toml", 0); });
}

}  // namespace

TEST_CASE("iso dates: days since 1970, with their fraction") {
  CHECK(parse_iso_date("1970-01-01") == 0.0);
  CHECK(parse_iso_date("1969-12-31") == -1.0);
  CHECK(parse_iso_date(" 2026-01-31 ") == 20484.0);
  CHECK(parse_iso_date("2024-02-29") == 19782.0);
  CHECK(parse_iso_date("0001-01-01") == -719162.0);
  CHECK(parse_iso_date("1970-01-02T12:00:00Z") == 1.5);
  CHECK(parse_iso_date("1970-01-02 12:00") == 1.5);
  CHECK(parse_iso_date("1970-01-02T12:00:00.000+02:00") == 1.5 - 2.0 / 24);
  CHECK(parse_iso_date("1970-01-02T12:00:00-0130") == 1.5 + 1.5 / 24);
  CHECK(parse_iso_date("1970-01-01T00:00:00.5") == 0.5 / 86400);
  for (const char* text : {"",
                           "2026",
                           "2026-1-31",
                           "2026-02-30",
                           "2023-02-29",
                           "2026-13-01",
                           "2026-00-01",
                           "2026-01-00",
                           "2026-01-31T",
                           "2026-01-31T24:00",
                           "2026-01-31T12",
                           "2026-01-31T12:60",
                           "2026-01-31T12:00:",
                           "2026-01-31T12:00:00.",
                           "2026-01-31T12:00:00+",
                           "2026-01-31T12:00:00+2:00",
                           "2026-01-31x",
                           "20260131",
                           "31.01.2026",
                           "+2026-01-31"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_iso_date(text));
  }
}

TEST_CASE("encoding: a file reads back to the same recipe, whatever names hold") {
  Encoding encoding;
  encoding.unseen = UnseenLevel::error;
  encoding.impute = Impute::mean;
  encoding.num_actions = 2;
  encoding.actions = {"a \"b\" \\c", "Zürich\n\t\x7F"};
  encoding.columns = {{.name = "age = [1]", .fill = 0.1 + 0.2, .missing = true},
                      {.name = "since", .kind = ColumnKind::date, .fill = 20000},
                      {.name = "#city", .kind = ColumnKind::categorical, .levels = {"", "x,y", "'"}, .missing = true}};
  const testing::Folder folder;
  testing::write_bytes(folder / "e.toml", encoding_text(encoding));
  const Encoding read = read_encoding(folder / "e.toml", 0);
  CHECK(encoding_text(read) == encoding_text(encoding));
  CHECK(read.columns[0].fill == 0.1 + 0.2);
  CHECK(read.columns[2].levels == encoding.columns[2].levels);
  CHECK(read.actions == encoding.actions);
  CHECK(feature_names(read) == std::vector<std::string>{"age = [1]", "age = [1] missing", "since",
                                                        "#city=", "#city=x,y", "#city='", "#city missing"});
}

TEST_CASE("encoding: two features of one name are refused") {
  Encoding encoding;
  encoding.columns = {{.name = "a=b"}, {.name = "a", .kind = ColumnKind::categorical, .levels = {"b"}}};
  CHECK(holds(complaint([&] { feature_names(encoding); }), "name 'a=b'"));
}

TEST_CASE("encoding: what is wrong with a file is named") {
  CHECK(holds(reading_complaint("unseen = 3\n"), "line 1: unseen: must be a word"));
  CHECK(holds(reading_complaint("unseen = \"othr\"\n"), "did you mean 'other'?"));
  CHECK(holds(reading_complaint("column = 3\n"), "[[column]]"));
  CHECK(holds(reading_complaint("column = [3]\n"), "[[column]]"));
  CHECK(holds(reading_complaint("[[column]]\nkind = \"number\"\n"), "name: is missing"));
  CHECK(holds(reading_complaint("[[column]]\nname = \"a\"\nkind = \"categorical\"\n"), "levels: is missing"));
  CHECK(holds(reading_complaint("[[column]]\nname = \"a\"\nlevels = [\"b\"]\n"), "is for categorical columns"));
  CHECK(
      holds(reading_complaint("[[column]]\nname = \"a\"\nkind = \"categorical\"\nlevels = [\"b\", \"b\"]\n"), "twice"));
  CHECK(holds(reading_complaint("[[column]]\nname = \"a\"\n[[column]]\nname = \"a\"\n"), "'a' is there twice"));
  CHECK(holds(reading_complaint("[[column]]\nname = \"a\"\nfill = nan\n"), "finite"));
  CHECK(holds(reading_complaint("num_actions = 0\n"), "at least 1"));
  CHECK(holds(reading_complaint("num_actions = 3\nactions = [\"a\"]\n"), "is 3, but there are 1"));
  CHECK(holds(reading_complaint("= 3"), "not valid TOML"));
}

TEST_CASE("encoding: numbers, dates and holes") {
  Encoding plain;
  ColumnEncoder number({.name = "x"}, plain, true);
  CHECK(encoded(number, "") == fault(FieldFault::missing));
  CHECK(encoded(number, " 1.5") == std::vector<double>{1.5});
  CHECK(encoded(number, "2026-01-31") == fault(FieldFault::not_a_number));
  ColumnEncoder date({.name = "x"}, plain, true);
  CHECK(encoded(date, "1970-01-03") == std::vector<double>{2});
  CHECK(encoded(date, "3") == fault(FieldFault::not_a_number));
  ColumnEncoder known({.name = "x"}, plain, false);
  CHECK(encoded(known, "1970-01-03") == fault(FieldFault::not_a_number));

  Encoding filling;
  filling.impute = Impute::mean;
  ColumnEncoder filled({.name = "x", .fill = 7, .missing = true}, filling, false);
  for (const char* hole : {"", "  ", "NA", "nan", "NaN", "null", "None", " N/A "}) {
    CAPTURE(hole);
    CHECK(encoded(filled, hole) == std::vector<double>{7, 1});
  }
  CHECK(encoded(filled, "2") == std::vector<double>{2, 0});
  CHECK(encoded(filled, "two") == fault(FieldFault::not_a_number));
}

TEST_CASE("encoding: levels, others and holes") {
  const EncodedColumn column{.name = "c", .kind = ColumnKind::categorical, .levels = {"NA", "b"}, .missing = true};
  Encoding encoding;
  encoding.impute = Impute::zero;
  ColumnEncoder other(column, encoding, false);
  CHECK(encoded(other, " b ") == std::vector<double>{0, 1, 0, 0});
  CHECK(encoded(other, "NA") == std::vector<double>{1, 0, 0, 0});  // Namibia
  CHECK(encoded(other, "z") == std::vector<double>{0, 0, 1, 0});
  CHECK(encoded(other, "") == std::vector<double>{0, 0, 0, 1});
  encoding.unseen = UnseenLevel::error;
  ColumnEncoder strict(column, encoding, false);
  CHECK(encoded(strict, "z") == fault(FieldFault::unseen_level));
  encoding.impute = Impute::error;
  ColumnEncoder no_holes({.name = "c", .kind = ColumnKind::categorical, .levels = {"b"}}, encoding, false);
  CHECK(encoded(no_holes, "") == fault(FieldFault::missing));
}

TEST_CASE("encoding: levels and means are learned in any order of the rows") {
  ColumnLearner forwards("x", false, Impute::mean), backwards("x", false, Impute::mean);
  const std::vector<std::string> values = {"1e16", "1", "-1e16", "", "3", "NA"};
  for (std::size_t i = 0; i < values.size(); ++i) {
    forwards.add(values[i], "f");
    backwards.add(values[values.size() - 1 - i], "f");
  }
  CHECK(forwards.learned().fill == 1.0);  // (1e16 + 1 - 1e16 + 3) / 4, to the last bit
  CHECK(backwards.learned().fill == 1.0);
  CHECK(forwards.learned().missing);
  ColumnLearner levels("c", true, Impute::error);
  for (const char* text : {"b", "a", " b", "é", "B"}) levels.add(text, "f");
  CHECK(levels.learned().levels == std::vector<std::string>{"B", "a", "b", "é"});
  ColumnLearner numbers("c", true, Impute::error);
  for (const char* text : {"10", "9", "-1"}) numbers.add(text, "f");
  CHECK(numbers.learned().levels == std::vector<std::string>{"-1", "9", "10"});
  CHECK(holds(complaint([&] {
                for (int i = 0; i < 2000; ++i) levels.add(std::to_string(i), "f.csv");
              }),
              "f.csv: column 'c': has more than 1000 different values"));
}
