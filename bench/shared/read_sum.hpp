/// Read-sum: the sum of every number in the logs, the least that a pass over them can do.
#pragma once

#include <thread>
#include <vector>

#include "shared/logs.hpp"

namespace scrm::bench {

/// Sums a column of n doubles, n a multiple of 64, at the full width of the machine's vectors.
#if defined(__x86_64__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
inline double
column_sum(const double* values, std::int64_t n) {
  // Enough independent sums that additions never wait for each other.
  constexpr int kSums = 64;
  double sums[kSums] = {};
  for (std::int64_t i = 0; i < n; i += kSums) {
    for (int k = 0; k < kSums; ++k) sums[k] += values[i + k];
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

inline double block_sum(const Block& block) {
  return column_sum(static_cast<const double*>(block.context), std::int64_t{kFeatures} * kBlockRows) +
         column_sum(block.action, kBlockRows) + column_sum(block.loss, kBlockRows) +
         column_sum(block.propensity, kBlockRows);
}

/// Sum over all blocks, each thread its own contiguous share.
inline double read_sum(const std::vector<Block>& blocks, int threads) {
  std::vector<double> sums(static_cast<std::size_t>(threads));
  const auto share = [&](int thread) {
    const std::size_t first = blocks.size() * static_cast<std::size_t>(thread) / static_cast<std::size_t>(threads);
    const std::size_t last = blocks.size() * static_cast<std::size_t>(thread + 1) / static_cast<std::size_t>(threads);
    double sum = 0;
    for (std::size_t b = first; b < last; ++b) sum += block_sum(blocks[b]);
    sums[static_cast<std::size_t>(thread)] = sum;
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(share, t);
  share(0);
  for (std::thread& other : others) other.join();
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

/// Views of all blocks of a source in memory.
inline std::vector<Block> views(MemorySource& source) {
  const auto loader = source.make_loader();
  Audit audit;
  std::vector<Block> out;
  for (std::int64_t b = 0; b < source.blocks(); ++b) {
    const auto group = source.fetch(b, 1);
    out.push_back(source.load(*group, b, *loader, audit));
  }
  return out;
}

}  // namespace scrm::bench
