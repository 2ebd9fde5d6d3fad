// labels: fast
#include "scrm/io/file/numbers.hpp"

#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

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

TEST_CASE(
    "parse_double: texts of any number of digits are what strtod makes of them, and one wrong character spoils any") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const int digits = 1 + static_cast<int>(random() % 18);
    const double scale = std::pow(10.0, static_cast<double>(random() % 14) - 6);
    const double number = (static_cast<double>(random() >> 11U) * 0x1p-53 - 0.5) * scale;
    char text[64];
    const int length = std::snprintf(text, sizeof text, random() % 2 == 0 ? "%.*g" : "%.*f", digits, number);
    // Nothing before and behind it may be read.
    const std::vector<char> exact(text, text + length);
    const std::string_view view(exact.data(), exact.size());
    const double expected = std::strtod(text, nullptr);
    const std::optional<double> found = parse_double(view);
    REQUIRE_MESSAGE(found == expected, text);
    REQUIRE_MESSAGE(std::signbit(*found) == std::signbit(expected), text);
    std::vector<char> spoilt = exact;
    spoilt[random() % spoilt.size()] = "/:x ,"[random() % 5];
    const std::string_view other(spoilt.data(), spoilt.size());
    // Blanks around a number are no part of it.
    if (spoilt.front() == ' ' || spoilt.back() == ' ') continue;
    REQUIRE_MESSAGE(!parse_double(other), std::string(other));
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
