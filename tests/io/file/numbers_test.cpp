// labels: fast
#include "scrm/io/file/numbers.hpp"

#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <limits>

using scrm::parse_double;
using scrm::parse_integer;

TEST_CASE("parse_double: numbers are read to the last bit, and nothing else is taken for one") {
  CHECK(parse_double("0.1") == 0.1);
  CHECK(parse_double(" +1e3\t") == 1000);
  CHECK(parse_double("-2.2250738585072011e-308") == -2.2250738585072011e-308);
  CHECK(parse_double("123456789012345678901234567890") == 123456789012345678901234567890.0);
  CHECK(parse_double(".5") == 0.5);
  CHECK(parse_double("5.") == 5);
  CHECK(std::isnan(parse_double("nan").value()));
  CHECK(parse_double("-inf") == -INFINITY);
  CHECK(parse_double("1e999") == INFINITY);
  for (const char* text : {"", " ", "x", "1x", "1 2", "+-1", "--1", "++1", "0x10", "1,5", "NA", "1e", "+", "1\n"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_double(text));
  }
}

TEST_CASE("parse_double: a comma of the locale is never a decimal point") {
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    CHECK(parse_double("1.5") == 1.5);
    CHECK_FALSE(parse_double("1,5"));
  }
  std::setlocale(LC_NUMERIC, "C");
}

TEST_CASE("parse_integer: digits and nothing else; what does not fit is the largest or smallest there is") {
  using Limits = std::numeric_limits<std::int64_t>;
  CHECK(parse_integer("0") == 0);
  CHECK(parse_integer("-12") == -12);
  CHECK(parse_integer("9223372036854775807") == Limits::max());
  CHECK(parse_integer("99999999999999999999") == Limits::max());
  CHECK(parse_integer("-99999999999999999999") == Limits::min());
  CHECK(parse_integer("1F642", 16) == 0x1F642);
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "x", "-", "99999999999999999999x"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_integer(text));
  }
}
