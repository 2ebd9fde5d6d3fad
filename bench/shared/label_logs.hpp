/// Logged rows for benchmarks: the labelling shape (500 single-precision features, 22 labels).
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/kernels/vector/random.hpp"

namespace scrm::bench {

inline constexpr int kLabelFeatures = 500;
inline constexpr int kLabels = 22;
/// A hundred thousand rows, 200 MB of contexts.
inline constexpr std::int64_t kLabelBlocks = 49;
/// Rows repeat after this many blocks.
inline constexpr std::int64_t kLabelPatternBlocks = 4;

inline Schema label_schema() {
  Schema out;
  out.action_kind = ActionKind::multilabel;
  out.num_actions = kLabels;
  out.features = kLabelFeatures;
  out.context_type = FloatType::f32;
  out.propensity = PropensityForm::logarithm;
  out.label_propensity = true;
  return out;
}

/// Scores of about one in size, times `strength`.
inline Policy label_policy(double strength) {
  Policy policy;
  policy.kind = PolicyKind::multilabel;
  policy.outputs = kLabels;
  RandomStream random(11, 0, 0);
  for (int j = 0; j < kLabels * (1 + kLabelFeatures); ++j) policy.theta.push_back(strength * 0.08 * random.normal());
  return policy;
}

/// Close to the logging policy, label_policy(1): a product of 22 weights is seldom useful far from it.
inline Policy label_target_policy() {
  return label_policy(1.1);
}

inline std::unique_ptr<BlockBuffer> draw_label_block(std::int64_t number) {
  auto buffer = std::make_unique<BlockBuffer>(label_schema());
  RandomStream random(13, 0, static_cast<std::uint64_t>(number));
  for (int i = 0; i < kLabelFeatures * kBlockRows; ++i) {
    buffer->context_f32()[i] = static_cast<float>(2 * random.uniform() - 1);
  }
  const auto policy = make_target_policy(label_policy(1.0), label_schema(), "logging policy");
  PolicyScratch scratch;
  // Bits are zero at first, so that these are the probabilities of zeros.
  policy->label_probability(buffer->view(0, kBlockRows), scratch, buffer->label_propensity());
  for (int i = 0; i < kBlockRows; ++i) {
    double wrong = 0;
    for (int k = 0; k < kLabels; ++k) {
      const bool set = random.uniform() > buffer->label_propensity()[k * kBlockRows + i];
      buffer->bits()[k * kBlockRows + i] = set;
      wrong += set != (buffer->context_f32()[k * kBlockRows + i] > 0);
    }
    buffer->loss()[i] = wrong;
  }
  policy->label_probability(buffer->view(0, kBlockRows), scratch, buffer->label_propensity());
  policy->log_density(buffer->view(0, kBlockRows), scratch, buffer->propensity());
  return buffer;
}

/// Logs in memory, each block in memory of its own.
inline MemorySource label_logs() {
  MemorySource source(label_schema());
  std::vector<std::unique_ptr<BlockBuffer>> pattern;
  for (std::int64_t b = 0; b < kLabelPatternBlocks; ++b) pattern.push_back(draw_label_block(b));
  for (std::int64_t b = 0; b < kLabelBlocks; ++b) {
    BlockBuffer& from = *pattern[static_cast<std::size_t>(b % kLabelPatternBlocks)];
    auto to = std::make_unique<BlockBuffer>(label_schema());
    constexpr std::size_t kColumn = kBlockRows * sizeof(double);
    std::memcpy(to->context_f32(), from.context_f32(), kLabelFeatures * kBlockRows * sizeof(float));
    std::memcpy(to->bits(), from.bits(), std::size_t{kLabels} * kBlockRows);
    std::memcpy(to->label_propensity(), from.label_propensity(), kLabels * kColumn);
    std::memcpy(to->propensity(), from.propensity(), kColumn);
    std::memcpy(to->loss(), from.loss(), kColumn);
    source.append(std::move(to), kBlockRows);
  }
  return source;
}

/// Mean of all losses, block by block.
inline double mean_loss(MemorySource& source) {
  const auto loader = source.make_loader();
  Audit audit;
  double sum = 0;
  for (std::int64_t b = 0; b < source.blocks(); ++b) {
    const auto group = source.fetch(b, 1);
    const Block block = source.load(*group, b, *loader, audit);
    for (int i = 0; i < block.rows; ++i) sum += block.loss[i];
  }
  return sum / static_cast<double>(source.rows());
}

}  // namespace scrm::bench
