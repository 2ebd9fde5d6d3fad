#include "estimate/groups/row_groups.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "scrm/kernels/scores/transpose.hpp"

namespace scrm {
namespace {

// Weights above this are clipped before they are summed, those below are taken back out of the sum afterwards: ten of
// sixteen digits are left of it at least.
constexpr double kLargestSubtracted = 0x1p20;

// With so many blocks their own sums show the shape of a distribution: the noise of its skewness, √(15 / groups), is
// below what an interval minds.
constexpr std::int64_t kManyBlocks = 4096;

// Numbers that the groups of all policies together may take, and the fewest groups that say anything.
constexpr std::size_t kMostPolicyGroups = 131072;
constexpr std::int64_t kFewestGroups = 2048;

std::int64_t groups_of(std::int64_t rows, std::int64_t size) {
  return (rows + size - 1) / size;
}

}  // namespace

std::int64_t RowGroups::bootstrap_group_rows(std::int64_t rows) {
  std::int64_t size = 1;
  while (size < kBlockRows && groups_of(rows, size) > kMostGroups) size *= 2;
  return size;
}

std::int64_t RowGroups::shape_group_rows(std::int64_t rows, std::size_t policies) {
  const std::size_t share = std::bit_floor(kMostPolicyGroups / std::max<std::size_t>(1, policies));
  const auto most = std::clamp<std::int64_t>(static_cast<std::int64_t>(share), kFewestGroups, kMostGroups);
  std::int64_t size = groups_of(rows, kBlockRows) >= kManyBlocks ? kBlockRows : 1;
  while (groups_of(rows, size) > most) size *= 2;
  return size;
}

RowGroups::RowGroups(std::int64_t rows, std::int64_t group_rows, const GroupLayout& layout)
    : group_rows_(group_rows), table_{layout, groups_of(rows, group_rows), {}} {
  table_.sums.resize(static_cast<std::size_t>(table_.groups) * layout.width());
}

std::size_t RowGroups::bytes(std::int64_t rows, std::int64_t group_rows, const GroupLayout& layout) {
  return static_cast<std::size_t>(groups_of(rows, group_rows)) * layout.width() * sizeof(double);
}

double* RowGroups::group(std::int64_t row) {
  return table_.sums.data() + static_cast<std::size_t>(row / group_rows_) * table_.layout.width();
}

template <class Add>
void RowGroups::each_group(const Block& block, Add add) {
  for (int first = 0; first < block.rows;) {
    const std::int64_t row = block.first_row + first;
    const std::int64_t left = group_rows_ - row % group_rows_;
    const int end = static_cast<int>(std::min<std::int64_t>(block.rows, first + left));
    add(group(row), first, end);
    first = end;
  }
}

RowsOfGroups RowGroups::groups_of_block(const Block& block) {
  return {.rows = block.rows,
          .group_rows = group_rows_,
          .offset = block.first_row % group_rows_,
          .sums = group(block.first_row),
          .width = static_cast<std::int64_t>(table_.layout.width())};
}

void RowGroups::add_block_losses(const Block& block) {
  add_column_groups(groups_of_block(block), GroupLayout::kLoss, block.loss);
  each_group(block, [&](double* sums, int first, int end) { sums[GroupLayout::kRows] += end - first; });
}

bool RowGroups::is_held(double weight) const noexcept {
  return group_rows_ > 1 && weight > kLargestSubtracted;
}

void RowGroups::hold(const HeldRow& row, HeldRows& held, int& count) {
  if (count < static_cast<int>(held.size())) {
    held[static_cast<std::size_t>(count++)] = row;
    return;
  }
  HeldRow least = row;
  for (HeldRow& other : held) {
    if (other.weight < least.weight) std::swap(other, least);
  }
  group(least.row)[table_.layout.policy(least.policy) + GroupLayout::kClipped] += least.weight * least.loss;
}

void RowGroups::add_block(const Block& block, std::size_t policy, const double* weights, const WeightOptions& rules,
                          const double* excess) {
  const auto offset = static_cast<int>(table_.layout.policy(policy));
  const auto rows = static_cast<std::size_t>(block.rows);
  const bool automatic = rules.clip == 0;
  const bool holds = automatic && group_rows_ > 1 &&
                     !all_in_range(reinterpret_cast<const std::byte*>(weights), rows, 0.0, kLargestSubtracted);
  const auto at = [offset](std::size_t column) { return offset + static_cast<int>(column); };
  add_weight_groups(groups_of_block(block),
                    {.weight = at(GroupLayout::kWeight),
                     .ips = at(GroupLayout::kWeightedLoss),
                     .clipped = holds ? -1 : at(GroupLayout::kClipped),
                     .ix = at(GroupLayout::kIx)},
                    weights, block.loss, rules.alpha, rules.clip);
  if (holds) hold_block(block, policy, weights);
  if (excess == nullptr) return;
  each_group(block, [&](double* sums, int first, int end) {
    for (int i = first; i < end; ++i) {
      sums[at(GroupLayout::kOwn)] += block.loss[i] + block.loss[i] * excess[i];
      sums[at(GroupLayout::kOwn + 1)] += excess[i];
    }
  });
}

void RowGroups::hold_block(const Block& block, std::size_t policy, const double* weights) {
  HeldRows held;
  int held_count = 0;
  each_group(block, [&](double* sums, int first, int end) {
    double& clipped = sums[table_.layout.policy(policy) + GroupLayout::kClipped];
    for (int i = first; i < end; ++i) {
      if (is_held(weights[i]))
        hold({policy, block.first_row + i, weights[i], block.loss[i]}, held, held_count);
      else
        clipped += weights[i] * block.loss[i];
    }
  });
  if (held_count == 0) return;
  const std::lock_guard lock(held_mutex_);
  held_.insert(held_.end(), held.begin(), held.begin() + held_count);
}

void RowGroups::add_block_terms(const Block& block, std::size_t policy, std::size_t at, const double* terms) {
  add_column_groups(groups_of_block(block), static_cast<int>(table_.layout.policy(policy) + at), terms);
}

void RowGroups::add_block_sums(const BlockSums& block) {
  double* into = group(block.first_row);
  for (std::size_t c = 0; c < table_.layout.width(); ++c) into[c] += block.sums[c];
  // Each group by itself: what it holds must not depend on who adds up those before it.
  const std::int64_t number = block.first_row / group_rows_;
  open_.resize(block.top.size());
  for (std::size_t p = 0; p < block.top.size(); ++p) {
    OpenGroup& open = open_[p];
    if (open.group != number) close(open);
    open.group = number;
    for (int t = 0; t < block.top[p].count; ++t) {
      const TopRows::Entry& entry = block.top[p].entries[static_cast<std::size_t>(t)];
      if (is_held(entry.weight))
        hold({p, entry.row, entry.weight, entry.loss}, open.held, open.count);
      else
        into[table_.layout.policy(p) + GroupLayout::kClipped] += entry.weight * entry.loss;
    }
  }
}

void RowGroups::close(OpenGroup& open) {
  held_.insert(held_.end(), open.held.begin(), open.held.begin() + open.count);
  open.count = 0;
}

void RowGroups::transfer(std::int64_t first, std::int64_t end, ByteStream& bytes) {
  using scrm::transfer;
  for (OpenGroup& open : open_) close(open);
  const std::size_t width = table_.layout.width();
  const std::int64_t first_group = std::min(table_.groups, groups_of(first, group_rows_));
  const std::int64_t end_group = std::min(table_.groups, groups_of(end, group_rows_));
  bytes.raw(table_.sums.data() + static_cast<std::size_t>(first_group) * width,
            static_cast<std::size_t>(end_group - first_group) * width * sizeof(double));
  const auto here = [&](const HeldRow& held) { return held.row >= first && held.row < end; };
  std::vector<HeldRow> held;
  std::copy_if(held_.begin(), held_.end(), std::back_inserter(held), here);
  transfer(bytes, held);
  if (!bytes.reads()) return;
  std::erase_if(held_, here);
  held_.insert(held_.end(), held.begin(), held.end());
}

void RowGroups::clip_top_rows(std::size_t policy, const TopRows& top, double clip) {
  const std::size_t offset = table_.layout.policy(policy);
  const auto add_clipped = [&](const HeldRow& held) {
    group(held.row)[offset + GroupLayout::kClipped] += std::min(held.weight, clip) * held.loss;
  };
  for (OpenGroup& open : open_) close(open);
  // In the order of rows, so that threads cannot change a bit. Only top rows lie above M.
  std::sort(held_.begin(), held_.end(), [](const HeldRow& a, const HeldRow& b) { return a.row < b.row; });
  for (const HeldRow& held : held_) {
    if (held.policy == policy) add_clipped(held);
  }
  for (int t = 0; t < top.count; ++t) {
    const TopRows::Entry& entry = top.entries[static_cast<std::size_t>(t)];
    if (is_held(entry.weight)) continue;
    double& sum = group(entry.row)[offset + GroupLayout::kClipped];
    // A row that is its own group is clipped exactly.
    const double kept = std::min(entry.weight, clip) * entry.loss;
    sum = group_rows_ == 1 ? kept : sum - (entry.weight - std::min(entry.weight, clip)) * entry.loss;
  }
}

void BlockSums::set_policy(const GroupLayout& layout, std::size_t policy, const WeightSums& weights,
                           const WeightOptions& rules) {
  const auto total = [](const Moments& moments) {
    return moments.count > 0 ? moments.true_mean() * moments.count : 0.0;
  };
  const bool automatic = rules.clip == 0;
  double* own = sums.data() + layout.policy(policy);
  own[GroupLayout::kWeight] = total(weights.weight);
  own[GroupLayout::kWeightedLoss] = total(weights.ips);
  own[GroupLayout::kClipped] = total(automatic ? weights.ips : weights.clipped);
  own[GroupLayout::kIx] = total(weights.ix);
  for (int t = 0; t < weights.top.count; ++t) {
    const TopRows::Entry& entry = weights.top.entries[static_cast<std::size_t>(t)];
    own[GroupLayout::kWeight] += entry.weight;
    own[GroupLayout::kWeightedLoss] += entry.weight * entry.loss;
    if (!automatic) own[GroupLayout::kClipped] += std::min(entry.weight, rules.clip) * entry.loss;
    own[GroupLayout::kIx] += entry.weight * entry.loss / (1 + rules.alpha * entry.weight);
  }
  if (!automatic) return;
  top.resize(layout.policies());
  top[policy] = weights.top;
}

}  // namespace scrm
