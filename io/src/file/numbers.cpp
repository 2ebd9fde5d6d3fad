#include "scrm/io/file/numbers.hpp"

#include <fast_float/fast_float.h>

#include <charconv>
#include <limits>

#include "file/text.hpp"

namespace scrm {

std::optional<double> parse_double(std::string_view text) noexcept {
  text = trimmed(text);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = fast_float::from_chars(text.data(), end, value);
  if (error != std::errc() || behind != end || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text, int base) noexcept {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, value, base);
  if (error == std::errc::invalid_argument || behind != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) return text.front() == '-' ? Limits::min() : Limits::max();
  return value;
}

}  // namespace scrm
