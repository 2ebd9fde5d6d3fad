#include "mutate.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace scrm::fuzzing {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

// What parsers of numbers and of structure are likely to trip over.
constexpr std::array<std::string_view, 28> kTokens = {
    "nan", "inf",  "-inf", "1e999", "-0", "1e-999", "9223372036854775808",
    "-1",  "0x10", "1.",   ".5",    "\"", "\"\"",   "'",
    ",",   ";",    "\n",   "\r\n",  "{",  "}",      "[",
    "]",   "<",    "/>",   "&#",    "=",  "%",      "\xef\xbb\xbf"};
constexpr std::array<std::uint64_t, 10> kIntegers = {0,          1,          0x7f,        0xff,        0x7fffffff,
                                                     0x80000000, 0xffffffff, 1ULL << 60U, 1ULL << 62U, ~0ULL};

void overwrite_integer(std::string& bytes, Random& random) {
  std::uint64_t value = kIntegers[random.below(kIntegers.size())];
  const std::size_t width = std::size_t{1} << random.below(4);
  std::size_t at = random.below(bytes.size());
  for (std::size_t i = 0; i < width && at < bytes.size(); ++i, ++at, value >>= 8U) {
    bytes[at] = static_cast<char>(value & 0xffU);
  }
}

std::string random_bytes(Random& random) {
  std::string out(1 + random.below(16), '\0');
  for (char& byte : out) byte = static_cast<char>(random.next());
  return out;
}

void change(std::string& bytes, const std::vector<std::string>& inputs, Random& random) {
  const std::size_t at = random.below(bytes.size());
  const std::size_t length = 1 + random.below(std::min<std::size_t>(64, bytes.size()));
  const std::size_t kind = random.below(10);
  if (kind == 0) {
    bytes.insert(at, kTokens[random.below(kTokens.size())]);
  } else if (kind == 1) {
    bytes.insert(at, random_bytes(random));
  } else if (bytes.empty()) {
    bytes = inputs[random.below(inputs.size())];
  } else if (kind == 2) {
    bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << random.below(8)));
  } else if (kind == 3) {
    bytes[at] = static_cast<char>(random.next());
  } else if (kind == 4) {
    overwrite_integer(bytes, random);
  } else if (kind == 5) {
    bytes.resize(at);
  } else if (kind == 6) {
    bytes.erase(at, length);
  } else if (kind == 7) {
    bytes.insert(random.below(bytes.size()), bytes.substr(at, length));
  } else if (kind == 8) {
    const std::string& other = inputs[random.below(inputs.size())];
    bytes = bytes.substr(0, at) + other.substr(random.below(other.size()));
  } else {
    const std::string_view token = kTokens[random.below(kTokens.size())];
    bytes.replace(at, std::min(length, token.size()), token);
  }
}

}  // namespace

std::string mutate(const std::vector<std::string>& inputs, Random& random) {
  std::string bytes = inputs[random.below(inputs.size())];
  for (std::size_t changes = 1 + random.below(8); changes > 0; --changes) change(bytes, inputs, random);
  if (bytes.size() > kMostBytes) bytes.resize(kMostBytes);
  return bytes;
}

}  // namespace scrm::fuzzing
