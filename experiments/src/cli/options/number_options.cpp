#include "cli/options/number_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"

namespace scrm {

std::optional<double> number_option(std::string_view text) {
  const std::optional<double> value = parse_double(text);
  return value && std::isnan(*value) ? std::nullopt : value;
}

std::optional<double> number_or_auto(const std::string& text, const char* option) {
  if (text == "auto") return std::nullopt;
  const std::optional<double> value = number_option(text);
  if (!value) throw Error(ErrorKind::usage, fmt::format("{} is '{}', but must be a number or 'auto'", option, text));
  return value;
}

std::vector<double> parse_numbers(const std::string& text, const char* option, const char* takes) {
  std::vector<double> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::optional<double> value = number_option(text.substr(begin, end - begin));
    if (!value) throw Error(ErrorKind::usage, fmt::format("{} is '{}', but must be {}", option, text, takes));
    numbers.push_back(*value);
    begin = end + 1;
  }
  return numbers;
}

std::pair<double, double> parse_range(const std::string& text, const char* option) {
  const std::size_t colon = text.find(':', 1);
  const bool two = colon != std::string::npos;
  const auto low = two ? number_option(text.substr(0, colon)) : std::nullopt;
  const auto high = two ? number_option(text.substr(colon + 1)) : std::nullopt;
  if (!low || !high || !(*low < *high)) {
    throw Error(ErrorKind::usage,
                fmt::format("{} is '{}', but must read LO:HI, the lower number first, such as -3:3", option, text));
  }
  return {*low, *high};
}

}  // namespace scrm
