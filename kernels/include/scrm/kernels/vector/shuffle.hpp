/// Random orders that depend on nothing but the stream they are drawn from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "scrm/kernels/vector/random.hpp"

namespace scrm {

/// Brings the entries into an order in which each of the n! is as likely as any other (Fisher and Yates, last first).
template <class Entry>
void shuffle(std::span<Entry> entries, RandomStream& random) noexcept {
  for (std::int64_t i = std::ssize(entries) - 1; i > 0; --i) {
    const auto j = std::min<std::int64_t>(i, static_cast<std::int64_t>(random.uniform() * static_cast<double>(i + 1)));
    std::swap(entries[static_cast<std::size_t>(i)], entries[static_cast<std::size_t>(j)]);
  }
}

}  // namespace scrm
