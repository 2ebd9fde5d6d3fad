// labels: fast io
#include "scrm/io/file/toml_text.hpp"

#include <doctest/doctest.h>
#include <toml++/toml.h>

#include <limits>
#include <string>
#include <vector>

using scrm::toml_float;
using scrm::toml_list;
using scrm::toml_string;

TEST_CASE("toml_string: any text comes back from a TOML reader") {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  for (const std::string& text : {std::string(), std::string("C:\\data \"x\""), std::string("Größe\r\n\t"), all}) {
    const toml::table read = toml::parse("text = " + toml_string(text));
    CHECK(read["text"].value<std::string>() == text);
  }
  CHECK(toml_string("a\x1b") == "\"a\\u001B\"");
}

TEST_CASE("toml_float: always a float, with the same bits") {
  CHECK(toml_float(1) == "1.0");
  CHECK(toml_float(1e300) == "1e+300");
  for (const double value : {0.1, -1.0 / 3, 1e-300, 5e-324, std::numeric_limits<double>::max()}) {
    const toml::table read = toml::parse("x = " + toml_float(value));
    CHECK(read["x"].value_exact<double>() == value);
  }
}

TEST_CASE("toml_list: texts or floats on one line") {
  CHECK(toml_list(std::vector<std::string>{"a", "b\"c"}) == "[\"a\", \"b\\\"c\"]");
  CHECK(toml_list(std::vector<double>{1, 0.5}) == "[1.0, 0.5]");
  CHECK(toml_list(std::vector<std::string>{}) == "[]");
}
