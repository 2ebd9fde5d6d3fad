#include "import/cluster_number.hpp"

#include <fmt/format.h>

#include <limits>

#include "file/text.hpp"
#include "scrm/io/file/fnv_hash.hpp"
#include "scrm/io/file/numbers.hpp"

namespace scrm {
namespace {

/// What pandas makes of a whole number where another row of the column is empty.
constexpr std::string_view kNoFraction = ".0";

}  // namespace

std::int64_t cluster_number(std::string_view text) {
  text = trimmed(text);
  const bool whole = text.ends_with(kNoFraction);
  const std::string_view digits = whole ? text.substr(0, text.size() - kNoFraction.size()) : text;
  // Only what is spelled as this number alone: 007 and 7 may be two users, and integers may be too long for 64 bits.
  if (const auto number = parse_integer(digits); number && fmt::to_string(*number) == digits) return *number;
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(fnv_hash(text.data(), text.size()) & kLargest);
}

}  // namespace scrm
