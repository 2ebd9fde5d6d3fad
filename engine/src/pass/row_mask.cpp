#include "scrm/engine/pass/row_mask.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "pass/split_draw.hpp"

namespace scrm {
RowMask::RowMask(std::int64_t rows, bool all)
    : rows_(rows), words_(static_cast<std::size_t>((rows + 63) / 64), all ? ~std::uint64_t{0} : 0) {
  if (all && rows % 64 != 0) words_.back() >>= 64 - rows % 64;
}

RowMask RowMask::random(std::int64_t rows, double share, std::uint64_t seed, std::uint32_t split, int together) {
  RowMask mask(rows, false);
  for (std::int64_t first = 0; first < rows; first += together) {
    if (split_draw(seed, split, static_cast<std::uint64_t>(first / together)) >= share) continue;
    for (std::int64_t row = first; row < std::min(rows, first + together); ++row) mask.set(row);
  }
  return mask;
}

std::int64_t RowMask::count() const noexcept {
  std::int64_t total = 0;
  for (const std::uint64_t word : words_) total += std::popcount(word);
  return total;
}

RowMask RowMask::operator&(const RowMask& other) const {
  RowMask out = *this;
  for (std::size_t i = 0; i < words_.size(); ++i) out.words_[i] &= other.words_[i];
  return out;
}

RowMask RowMask::operator~() const {
  RowMask out(rows_, true);
  for (std::size_t i = 0; i < words_.size(); ++i) out.words_[i] &= ~words_[i];
  return out;
}

std::span<std::uint64_t> RowMask::words(std::int64_t first, std::int64_t end) noexcept {
  const auto from = static_cast<std::size_t>(first / 64);
  return std::span(words_).subspan(from, std::min(words_.size(), static_cast<std::size_t>((end + 63) / 64)) - from);
}

void RowMask::expand(std::int64_t first, int n, std::uint8_t* out) const noexcept {
  int i = 0;
  if (first % 64 == 0) {
    // Eight bits become eight bytes at a time: copies of the byte, one bit kept in each, moved down to 0 or 1.
    for (; i + 64 <= n && first + i + 64 <= rows_; i += 64) {
      const std::uint64_t word = words_[static_cast<std::size_t>((first + i) / 64)];
      for (int byte = 0; byte < 8; ++byte) {
        const std::uint64_t copies = ((word >> (8 * byte)) & 0xFF) * 0x0101010101010101u;
        const std::uint64_t kept = copies & 0x8040201008040201u;
        const std::uint64_t flags = ((kept + 0x00406070787C7E7Fu) >> 7) & 0x0101010101010101u;
        std::memcpy(out + i + 8 * byte, &flags, 8);
      }
    }
  }
  for (; i < n; ++i) out[i] = first + i < rows_ && (*this)[first + i] ? 1 : 0;
}

}  // namespace scrm
