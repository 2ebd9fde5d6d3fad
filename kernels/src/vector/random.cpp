#include "scrm/kernels/vector/random.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace scrm {

namespace {

std::uint32_t low_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

std::uint32_t high_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

}  // namespace

// The seed is the key, everything else is the counter: Philox promises that different counters under one key are
// unrelated, so rows and purposes never overlap. The last word counts the draws within the stream.
RandomStream::RandomStream(std::uint64_t seed, std::uint32_t stream, std::uint64_t row) noexcept
    : key_{low_word(seed), high_word(seed)}, counter_{low_word(row), high_word(row), stream, 0} {}

void RandomStream::refill() noexcept {
  const r123::Philox4x32::ctr_type counter = {{counter_[0], counter_[1], counter_[2], counter_[3]}};
  const r123::Philox4x32::key_type key = {{key_[0], key_[1]}};
  const r123::Philox4x32::ctr_type words = r123::Philox4x32()(counter, key);
  buffer_ = {words[0], words[1], words[2], words[3]};
  ++counter_[3];
  used_ = 0;
}

std::uint64_t RandomStream::bits() noexcept {
  if (used_ == 4) refill();
  const auto at = static_cast<std::size_t>(used_);
  used_ += 2;
  return buffer_[at] | std::uint64_t{buffer_[at + 1]} << 32;
}

double RandomStream::uniform() noexcept {
  const std::uint64_t grid = bits() >> 11;
  // Multiples of 2^-53 never round up to 1; the one that would be 0 moves to the middle of its cell.
  return grid != 0 ? static_cast<double>(grid) * 0x1p-53 : 0x1p-54;
}

double RandomStream::normal() noexcept {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace scrm
