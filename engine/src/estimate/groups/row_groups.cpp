#include "estimate/groups/row_groups.hpp"

#include <algorithm>
#include <bit>

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
    : group_rows_(group_rows), table_{layout, groups_of(rows, group_rows), {}}, held_(layout.policies()) {
  table_.sums.resize(static_cast<std::size_t>(table_.groups) * layout.width());
}

std::size_t RowGroups::bytes(std::int64_t rows, std::int64_t group_rows, const GroupLayout& layout) {
  return static_cast<std::size_t>(groups_of(rows, group_rows)) * layout.width() * sizeof(double) +
         layout.policies() * (sizeof(HeldRows) + sizeof(OpenGroup));
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

void RowGroups::add_clipped(std::size_t policy, const HeldRow& row, double weight) {
  group(row.row)[table_.layout.policy(policy) + GroupLayout::kClipped] += weight * row.loss;
}

void RowGroups::hold(std::size_t policy, const HeldRow& row, HeldRows& held) {
  if (held.count < TopRows::kSize) {
    held.rows[static_cast<std::size_t>(held.count++)] = row;
    return;
  }
  HeldRow least = row;
  for (HeldRow& other : held.rows) {
    if (other.weight < least.weight) std::swap(other, least);
  }
  add_clipped(policy, least, least.weight);
}

void RowGroups::hold_all(std::size_t policy, HeldRows& held) {
  HeldRows& kept = held_[policy];
  std::array<HeldRow, 2 * TopRows::kSize> all;
  auto end = std::copy_n(kept.rows.begin(), kept.count, all.begin());
  end = std::copy_n(held.rows.begin(), held.count, end);
  const auto is_less = [](const HeldRow& a, const HeldRow& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.row < b.row;
  };
  // Ten at most, one after the other put in its place: g++ 12 takes std::sort of them for one beyond the array.
  for (auto row = all.begin(); row != end; ++row) {
    std::rotate(std::upper_bound(all.begin(), row, *row, is_less), row, row + 1);
  }
  const auto first = all.begin() + std::max<std::ptrdiff_t>(0, end - all.begin() - TopRows::kSize);
  for (auto row = all.begin(); row != first; ++row) add_clipped(policy, *row, row->weight);
  std::copy(first, end, kept.rows.begin());
  kept.count = static_cast<int>(end - first);
  held.count = 0;
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
  each_group(block, [&](double* sums, int first, int end) {
    double& clipped = sums[table_.layout.policy(policy) + GroupLayout::kClipped];
    for (int i = first; i < end; ++i) {
      if (is_held(weights[i]))
        hold(policy, {weights[i], block.loss[i], block.first_row + i}, held);
      else
        clipped += weights[i] * block.loss[i];
    }
  });
  if (held.count == 0) return;
  const std::lock_guard lock(held_mutex_);
  hold_all(policy, held);
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
    if (open.group != number) hold_all(p, open.held);
    open.group = number;
    for (int t = 0; t < block.top[p].count; ++t) {
      const TopRows::Entry& entry = block.top[p].entries[static_cast<std::size_t>(t)];
      if (is_held(entry.weight))
        hold(p, {entry.weight, entry.loss, entry.row}, open.held);
      else
        into[table_.layout.policy(p) + GroupLayout::kClipped] += entry.weight * entry.loss;
    }
  }
}

void RowGroups::close_groups() {
  for (std::size_t p = 0; p < open_.size(); ++p) hold_all(p, open_[p].held);
}

void RowGroups::transfer(std::int64_t first, std::int64_t end, ByteStream& bytes) {
  using scrm::transfer;
  close_groups();
  const std::size_t width = table_.layout.width();
  const std::int64_t first_group = std::min(table_.groups, groups_of(first, group_rows_));
  const std::int64_t end_group = std::min(table_.groups, groups_of(end, group_rows_));
  bytes.raw(table_.sums.data() + static_cast<std::size_t>(first_group) * width,
            static_cast<std::size_t>(end_group - first_group) * width * sizeof(double));
  for (std::size_t p = 0; p < held_.size(); ++p) {
    HeldRows here, elsewhere;
    for (int i = 0; i < held_[p].count; ++i) {
      const HeldRow& row = held_[p].rows[static_cast<std::size_t>(i)];
      HeldRows& into = row.row >= first && row.row < end ? here : elsewhere;
      into.rows[static_cast<std::size_t>(into.count++)] = row;
    }
    transfer(bytes, here);
    if (!bytes.reads()) continue;
    held_[p] = elsewhere;
    hold_all(p, here);
  }
}

void RowGroups::clip_top_rows(std::size_t policy, const TopRows& top, double clip) {
  close_groups();
  // Only top rows lie above M.
  const HeldRows& held = held_[policy];
  for (int i = 0; i < held.count; ++i) {
    const HeldRow& row = held.rows[static_cast<std::size_t>(i)];
    add_clipped(policy, row, std::min(row.weight, clip));
  }
  const std::size_t offset = table_.layout.policy(policy);
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
