#include "scrm/io/file/numbers.hpp"

#include <fast_float/fast_float.h>

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <limits>

#include "file/text.hpp"

namespace scrm {
namespace {

// As many digits make a whole number that a double holds, and so is every power of ten behind the point.
constexpr std::ptrdiff_t kExactDigits = 15;
constexpr double kPowersOfTen[kExactDigits + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
constexpr std::uint64_t kZeros = 0x3030303030303030U;  // "00000000"

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// The number whose last `count` digits, one to eight, end at `end`, which seven characters stand before at least; in
/// `correct` whether they are digits.
std::uint64_t last_digits(const char* end, std::ptrdiff_t count, bool& correct) noexcept {
  std::uint64_t word;
  std::memcpy(&word, end - 8, sizeof word);
  const std::uint64_t before = count < 8 ? (std::uint64_t{1} << (8 * (8 - count))) - 1 : 0;
  word = (word & ~before) | (kZeros & before);
  // A digit has a high half of 3, with and without 6 added to it.
  constexpr std::uint64_t kHighHalves = 0xF0F0F0F0F0F0F0F0U;
  correct = correct && (word & kHighHalves) == kZeros && ((word + 0x0606060606060606U) & kHighHalves) == kZeros;
  // Pairs, then fours, then all eight.
  word -= kZeros;
  word = word * 10 + (word >> 8U);
  constexpr std::uint64_t kPairs = 0x000000FF000000FFU;
  return ((word & kPairs) * 0x000F424000000064U + ((word >> 16U) & kPairs) * 0x0000271000000001U) >> 32U;
}

/// Numbers such as -12.345, whose digits fit a double: the quotient of two numbers that are exact is rounded once, as
/// it should be. False for all others, which may be numbers too.
bool parse_few_digits(std::string_view text, double& out) noexcept {
  if constexpr (std::endian::native != std::endian::little) return false;
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool negative = at != end && *at == '-';
  at += negative ? 1 : 0;
  const char* const first = at;
  std::uint64_t digits = 0;
  while (at != end && at - first < kExactDigits && is_digit(*at))
    digits = digits * 10 + static_cast<unsigned>(*at++ - '0');
  const std::ptrdiff_t whole = at - first;
  std::ptrdiff_t fraction = 0;
  if (whole == 0) return false;
  if (at != end) {
    fraction = end - at - 1;
    if (*at != '.' || fraction < 1 || whole + fraction > kExactDigits) return false;
    bool correct = true;
    const std::ptrdiff_t front = fraction > 8 ? fraction - 8 : 0;
    if (end - text.data() < (front > 0 ? 16 : 8)) {
      for (++at; at != end; ++at) {
        if (!is_digit(*at)) return false;
        digits = digits * 10 + static_cast<unsigned>(*at - '0');
      }
    } else {
      constexpr std::uint64_t kEight = 100'000'000;
      std::uint64_t behind = front > 0 ? last_digits(end - 8, front, correct) * kEight : 0;
      behind += last_digits(end, fraction - front, correct);
      digits = digits * static_cast<std::uint64_t>(kPowersOfTen[fraction]) + behind;
    }
    if (!correct) return false;
  }
  const double value = static_cast<double>(digits) / kPowersOfTen[fraction];
  out = negative ? -value : value;
  return true;
}

}  // namespace

std::optional<double> parse_double(std::string_view text) noexcept {
  text = trimmed(text);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  if (parse_few_digits(text, value)) return value;
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
