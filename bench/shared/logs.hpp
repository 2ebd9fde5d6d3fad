/// Logged rows for benchmarks: the pricing shape (ten features, one continuous action), and what a policy is worth on
/// them, computed plainly in long double.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/kernels/vector/elementary.hpp"
#include "scrm/kernels/vector/random.hpp"

namespace scrm::bench {

inline constexpr int kFeatures = 10;
/// Rows repeat after this many blocks: drawing ten million different ones would take longer than all measurements.
inline constexpr std::int64_t kPatternBlocks = 64;

inline Schema schema() {
  Schema out;
  out.features = kFeatures;
  return out;
}

inline Policy gaussian_policy(double scale, double tilt) {
  Policy policy;
  policy.scale = scale;
  policy.theta.assign(1 + kFeatures, 0.0);
  for (int j = 0; j < kFeatures; ++j) policy.theta[static_cast<std::size_t>(1 + j)] = 0.1 + tilt * (j - 4.5);
  return policy;
}

inline Policy logging_policy() {
  return gaussian_policy(1.0, 0.0);
}

/// The policy whose value is asked for: close to the logging policy, as candidates for deployment are.
inline Policy target_policy(int number = 0) {
  return gaussian_policy(0.8, 0.002 * (1 + number));
}

inline std::unique_ptr<BlockBuffer> draw_block(std::int64_t number) {
  auto buffer = std::make_unique<BlockBuffer>(schema());
  const Policy policy = logging_policy();
  for (int i = 0; i < kBlockRows; ++i) {
    RandomStream random(7, 0, static_cast<std::uint64_t>(number * kBlockRows + i));
    double mean = policy.theta[0];
    for (int j = 0; j < kFeatures; ++j) {
      const double x = 1.0 + random.uniform();
      buffer->context_f64()[j * kBlockRows + i] = x;
      mean += policy.theta[static_cast<std::size_t>(1 + j)] * x;
    }
    const double action = mean + policy.scale * random.normal();
    buffer->action()[i] = action;
    buffer->loss()[i] = std::min(0.0, 0.6 * action * action - 4.5 * action + random.normal());
  }
  const auto target = make_target_policy(policy, schema(), "logging policy");
  PolicyScratch scratch;
  target->log_density(buffer->view(0, kBlockRows), scratch, buffer->propensity());
  exp_array(buffer->propensity(), buffer->propensity(), kBlockRows);
  return buffer;
}

/// The blocks that all logs repeat.
inline const std::vector<std::unique_ptr<BlockBuffer>>& pattern() {
  static const auto blocks = [] {
    std::vector<std::unique_ptr<BlockBuffer>> out;
    for (std::int64_t b = 0; b < kPatternBlocks; ++b) out.push_back(draw_block(b));
    return out;
  }();
  return blocks;
}

inline std::unique_ptr<BlockBuffer> copy_pattern(std::int64_t number) {
  BlockBuffer& from = *pattern()[static_cast<std::size_t>(number % kPatternBlocks)];
  auto to = std::make_unique<BlockBuffer>(schema());
  constexpr std::size_t kColumn = kBlockRows * sizeof(double);
  std::memcpy(to->context_f64(), from.context_f64(), kFeatures * kColumn);
  std::memcpy(to->action(), from.action(), kColumn);
  std::memcpy(to->loss(), from.loss(), kColumn);
  std::memcpy(to->propensity(), from.propensity(), kColumn);
  return to;
}

/// Logs in memory: `blocks` full blocks, each in memory of its own.
inline MemorySource memory_logs(std::int64_t blocks) {
  MemorySource source(schema());
  for (std::int64_t b = 0; b < blocks; ++b) source.append(copy_pattern(b), kBlockRows);
  return source;
}

inline constexpr std::size_t kRowBytes = (kFeatures + 3) * sizeof(double);

/// What a correct evaluation finds.
struct Expected {
  long double mean_weight = 0;
  long double ips = 0;
  long double column_sum = 0;  ///< of every number in the logs

  bool agrees(double weight, double value) const {
    return std::abs(weight / static_cast<double>(mean_weight) - 1) < 1e-12 &&
           std::abs(value / static_cast<double>(ips) - 1) < 1e-12;
  }
};

/// Plain sums over one block of the pattern, row by row.
inline Expected plain_sums(std::int64_t number, const Policy& policy) {
  const Block block = pattern()[static_cast<std::size_t>(number)]->view(0, kBlockRows);
  const auto* context = static_cast<const double*>(block.context);
  const long double norm = std::sqrt(2 * 3.14159265358979323846264338327950288L) * policy.scale;
  Expected out;
  for (int i = 0; i < kBlockRows; ++i) {
    long double mean = policy.theta[0];
    for (int j = 0; j < kFeatures; ++j) {
      const long double x = context[j * kBlockRows + i];
      mean += policy.theta[static_cast<std::size_t>(1 + j)] * x;
      out.column_sum += x;
    }
    const long double z = (block.action[i] - mean) / policy.scale;
    const long double weight = std::exp(-z * z / 2) / norm / block.propensity[i];
    out.mean_weight += weight;
    out.ips += weight * block.loss[i];
    out.column_sum += static_cast<long double>(block.action[i]) + block.loss[i] + block.propensity[i];
  }
  return out;
}

inline Expected expected(std::int64_t blocks, const Policy& policy) {
  Expected out;
  for (std::int64_t b = 0; b < std::min(blocks, kPatternBlocks); ++b) {
    const long double times = (blocks - b + kPatternBlocks - 1) / kPatternBlocks;
    const Expected one = plain_sums(b, policy);
    out.mean_weight += times * one.mean_weight;
    out.ips += times * one.ips;
    out.column_sum += times * one.column_sum;
  }
  const long double rows = static_cast<long double>(blocks) * kBlockRows;
  out.mean_weight /= rows;
  out.ips /= rows;
  return out;
}

}  // namespace scrm::bench
