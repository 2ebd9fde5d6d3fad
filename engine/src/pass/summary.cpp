#include "scrm/engine/pass/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "scrm/kernels/vector/elementary.hpp"

namespace scrm {

namespace {

constexpr int kDecimalEdges = PropensityHistogram::kBins - 1;

/// The edges between bins, in ascending order.
const std::array<double, kDecimalEdges>& edges() {
  static const auto table = [] {
    std::array<double, kDecimalEdges> result{};
    std::size_t at = 0;
    for (int power = PropensityHistogram::kLowestPower; power <= PropensityHistogram::kHighestPower; ++power) {
      // Read from text, so that an edge is the double a person writes.
      for (const int digit : {1, 2, 5}) result[at++] = std::stod(fmt::format("{}e{}", digit, power));
    }
    result[at] = std::stod(fmt::format("1e{}", PropensityHistogram::kHighestPower + 1));
    return result;
  }();
  return table;
}

template <class Value>
Moments describe(const Value* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]);
  if (count > 0 && !std::isfinite(sum)) return moments_around(mean_of_large(values, count), values, count);
  return moments_around(count > 0 ? sum / static_cast<double>(count) : 0, values, count);
}

void merge_all(std::vector<Moments>& earlier, const std::vector<Moments>& later) {
  if (earlier.size() < later.size()) earlier.resize(later.size());
  for (std::size_t i = 0; i < later.size(); ++i) earlier[i].merge(later[i]);
}

void describe_actions(const Block& block, Summary& out) {
  if (block.action_kind == ActionKind::continuous) {
    out.action = describe(block.action, block.rows);
    return;
  }
  out.action_counts.assign(static_cast<std::size_t>(block.num_actions), 0);
  if (block.action_kind == ActionKind::categorical) {
    for (int i = 0; i < block.rows; ++i) ++out.action_counts[static_cast<std::size_t>(block.category[i])];
    return;
  }
  for (int k = 0; k < block.num_actions; ++k) {
    const std::uint8_t* bits = block.bits + static_cast<std::ptrdiff_t>(k) * kBlockRows;
    out.action_counts[static_cast<std::size_t>(k)] = std::count(bits, bits + block.rows, 1);
  }
}

void describe_context(const Block& block, Summary& out) {
  if (block.sparse.indptr != nullptr) {
    std::array<double, kBlockRows> lengths;
    for (int i = 0; i < block.rows; ++i) {
      lengths[static_cast<std::size_t>(i)] = static_cast<double>(block.sparse.indptr[i + 1] - block.sparse.indptr[i]);
    }
    out.entries_per_row = describe(lengths.data(), block.rows);
    out.entries = describe(block.sparse.values, block.sparse.indptr[block.rows]);
    return;
  }
  out.features.clear();
  for (std::int64_t j = 0; j < block.features; ++j) {
    if (block.context_type == FloatType::f32) {
      out.features.push_back(describe(static_cast<const float*>(block.context) + j * kBlockRows, block.rows));
    } else {
      out.features.push_back(describe(static_cast<const double*>(block.context) + j * kBlockRows, block.rows));
    }
  }
}

void describe_propensities(const Block& block, Summary& out) {
  alignas(kColumnAlignment) std::array<double, kBlockRows> linear;
  alignas(kColumnAlignment) std::array<double, kBlockRows> logarithm;
  alignas(kColumnAlignment) std::array<double, kBlockRows> weight;
  if (block.propensity != nullptr) {
    std::copy_n(block.propensity, block.rows, linear.begin());
    log_array(block.propensity, logarithm.data(), block.rows);
  } else {
    std::copy_n(block.log_propensity, block.rows, logarithm.begin());
    exp_array(block.log_propensity, linear.data(), block.rows);
  }
  out.propensity = describe(linear.data(), block.rows);
  out.log_propensity = describe(logarithm.data(), block.rows);
  out.histogram = {};
  for (int i = 0; i < block.rows; ++i) out.histogram.add(linear[static_cast<std::size_t>(i)]);

  out.target_weights.clear();
  for (int t = 0; t < block.num_targets; ++t) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i) {
      weight[i] = block.targets[t][i] * std::exp(-logarithm[i]);
    }
    out.target_weights.push_back(describe(weight.data(), block.rows));
  }
  if (block.action_kind != ActionKind::categorical) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i) {
    weight[i] = std::exp(-logarithm[i]) / block.num_actions;
  }
  out.uniform_weight = describe(weight.data(), block.rows);
}

void describe_block(const Block& block, Summary& out) {
  out.rows = block.rows;
  out.loss = describe(block.loss, block.rows);
  describe_actions(block, out);
  describe_context(block, out);
  describe_propensities(block, out);
}

void merge_summaries(Summary& earlier, const Summary& later) {
  earlier.rows += later.rows;
  earlier.loss.merge(later.loss);
  earlier.propensity.merge(later.propensity);
  earlier.log_propensity.merge(later.log_propensity);
  earlier.histogram.merge(later.histogram);
  earlier.action.merge(later.action);
  earlier.entries_per_row.merge(later.entries_per_row);
  earlier.entries.merge(later.entries);
  earlier.uniform_weight.merge(later.uniform_weight);
  merge_all(earlier.features, later.features);
  merge_all(earlier.target_weights, later.target_weights);
  if (earlier.action_counts.size() < later.action_counts.size()) {
    earlier.action_counts.resize(later.action_counts.size());
  }
  for (std::size_t k = 0; k < later.action_counts.size(); ++k) earlier.action_counts[k] += later.action_counts[k];
}

}  // namespace

double sample_sd(const Moments& moments) noexcept {
  // A mean that was rounded gives equal values a spread of their last digit.
  return moments.count > 1 && moments.lowest < moments.highest ? moments.standard_deviation() : 0.0;
}

double z_score(const Moments& moments, double value) noexcept {
  // Values that differ by rounding alone have a tiny spread, beside which a tiny offset would look large.
  constexpr double kRounding = 1e-12;
  if (moments.count < 2 || std::abs(moments.mean - value) <= kRounding * std::abs(value)) return 0.0;
  const double error = sample_sd(moments) / std::sqrt(moments.count);
  return error > 0 ? (moments.mean - value) / error : 0.0;
}

bool rounds_to_one(double mean_weight) noexcept {
  constexpr double kRoundedDigits = 2e-3;  // 0.333 for a third and 0.167 for a sixth; four digits of a fortieth
  return std::abs(mean_weight - 1) <= kRoundedDigits;
}

bool squares_vanish(const Moments& values) noexcept {
  constexpr double kSmallest = 1e-150;  // its square is well above the smallest double that has all its digits
  if (values.count == 0) return false;
  const double size = std::ldexp(std::max(std::abs(values.lowest), std::abs(values.highest)), values.exponent);
  return size > 0 && size < kSmallest;
}

double PropensityHistogram::lower_edge(int bin) noexcept {
  return bin <= 0 ? 0.0 : edges()[static_cast<std::size_t>(std::min(bin, kBins - 1) - 1)];
}

void PropensityHistogram::add(double propensity) noexcept {
  const auto& table = edges();
  const auto above = std::upper_bound(table.begin(), table.end(), propensity);
  ++counts[static_cast<std::size_t>(above - table.begin())];
}

void PropensityHistogram::merge(const PropensityHistogram& later) noexcept {
  for (std::size_t b = 0; b < counts.size(); ++b) counts[b] += later.counts[b];
}

void Summary::transfer(ByteStream& bytes) {
  using scrm::transfer;
  transfer(bytes, rows);
  transfer(bytes, loss);
  transfer(bytes, propensity);
  transfer(bytes, log_propensity);
  transfer(bytes, histogram);
  transfer(bytes, action);
  transfer(bytes, action_counts);
  transfer(bytes, features);
  transfer(bytes, entries_per_row);
  transfer(bytes, entries);
  transfer(bytes, target_weights);
  transfer(bytes, uniform_weight);
}

std::pair<Summary, Audit> summarize(Source& source, const PassOptions& options) {
  Summary empty;
  const Schema& schema = source.schema();
  if (!schema.sparse) empty.features.resize(static_cast<std::size_t>(schema.features));
  empty.target_weights.resize(schema.targets.size());
  if (schema.action_kind != ActionKind::continuous) {
    empty.action_counts.resize(static_cast<std::size_t>(schema.num_actions));
  }
  return run_pass(source, empty, describe_block, merge_summaries, options);
}

}  // namespace scrm
