#include "estimate/groups/cluster_groups.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "pass/mixed_bits.hpp"

namespace scrm {
namespace {

constexpr std::size_t kMostPolicyClusters = 131072;
constexpr std::int64_t kFewestClusters = 2048;
constexpr std::int64_t kMostClusters = 32768;

// A node of the map, roughly.
constexpr std::size_t kIndexBytes = 64;

}  // namespace

void ClusterEntries::clear() {
  keys.clear();
  sums.clear();
  block_ends.clear();
  top.clear();
}

void ClusterEntries::append(const ClusterEntries& later) {
  const std::size_t before = keys.size();
  keys.insert(keys.end(), later.keys.begin(), later.keys.end());
  sums.insert(sums.end(), later.sums.begin(), later.sums.end());
  for (const std::size_t end : later.block_ends) block_ends.push_back(before + end);
  top.insert(top.end(), later.top.begin(), later.top.end());
}

void ClusterEntries::transfer(ByteStream& bytes) {
  using scrm::transfer;
  transfer(bytes, keys);
  transfer(bytes, sums);
  transfer(bytes, block_ends);
  transfer(bytes, top);
}

ClusterGroups::ClusterGroups(const GroupLayout& layout)
    : table_{layout, 0, {}}, most_(static_cast<std::size_t>(most_clusters(layout.load()))), top_(layout.policies()) {}

std::int64_t ClusterGroups::most_clusters(std::size_t policies) {
  const std::size_t share = std::bit_floor(kMostPolicyClusters / std::max<std::size_t>(1, policies));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(share), kFewestClusters, kMostClusters);
}

std::size_t ClusterGroups::bytes(const GroupLayout& layout) {
  // A block may bring as many again before they are merged, and a vector that grows holds itself twice.
  const auto most = static_cast<std::size_t>(most_clusters(layout.load()) + kBlockRows);
  return most * (2 * layout.width() * sizeof(double) + kIndexBytes);
}

std::size_t ClusterGroups::block_bytes(const GroupLayout& layout) {
  return kBlockRows * ((layout.width() + 1) * sizeof(double) + sizeof(std::uint32_t));
}

void ClusterGroups::begin_block(const Block& block, ClusterEntries& out) const {
  out.clear();
  out.entry_of_row.resize(static_cast<std::size_t>(block.rows));
  // Open addressing with room for twice as many keys as there are rows.
  constexpr std::size_t kSlots = 2 * kBlockRows;
  std::array<std::uint32_t, kSlots> slots{};  // entry + 1
  for (int i = 0; i < block.rows; ++i) {
    const std::uint64_t key = mixed_bits(static_cast<std::uint64_t>(block.cluster[i]));
    std::size_t slot = key % kSlots;
    while (slots[slot] != 0 && out.keys[slots[slot] - 1] != key) slot = (slot + 1) % kSlots;
    if (slots[slot] == 0) {
      out.keys.push_back(key);
      slots[slot] = static_cast<std::uint32_t>(out.keys.size());
    }
    out.entry_of_row[static_cast<std::size_t>(i)] = slots[slot] - 1;
  }
  const std::size_t width = table_.layout.width();
  out.sums.assign(out.keys.size() * width, 0.0);
  for (int i = 0; i < block.rows; ++i) {
    double* sums = out.sums.data() + out.entry_of_row[static_cast<std::size_t>(i)] * width;
    sums[GroupLayout::kRows] += 1;
    sums[GroupLayout::kLoss] += block.loss[i];
  }
  out.block_ends.push_back(out.keys.size());
}

void ClusterGroups::add_block(const Block& block, std::size_t policy, const double* weights, const WeightOptions& rules,
                              const double* excess, ClusterEntries& out) const {
  const std::size_t width = table_.layout.width(), offset = table_.layout.policy(policy);
  const bool automatic = rules.clip == 0;
  for (int i = 0; i < block.rows; ++i) {
    double* sums = out.sums.data() + out.entry_of_row[static_cast<std::size_t>(i)] * width + offset;
    const double w = weights[i], y = block.loss[i];
    sums[GroupLayout::kWeight] += w;
    sums[GroupLayout::kWeightedLoss] += w * y;
    // Where M is automatic the largest weights are brought down to it after the pass.
    sums[GroupLayout::kClipped] += (automatic ? w : std::min(w, rules.clip)) * y;
    sums[GroupLayout::kIx] += w * y / (1 + rules.alpha * w);
    if (excess != nullptr) {
      sums[GroupLayout::kOwn] += y + y * excess[i];
      sums[GroupLayout::kOwn + 1] += excess[i];
    }
  }
}

void ClusterGroups::add_block_terms(const Block& block, std::size_t policy, std::size_t at, const double* terms,
                                    ClusterEntries& out) const {
  const std::size_t width = table_.layout.width();
  const std::size_t column = table_.layout.policy(policy) + at;
  for (int i = 0; i < block.rows; ++i)
    out.sums[out.entry_of_row[static_cast<std::size_t>(i)] * width + column] += terms[i];
}

void ClusterGroups::hold_top_rows(const Block& block, std::size_t policy, const TopRows& top,
                                  ClusterEntries& out) const {
  for (int t = 0; t < top.count; ++t) {
    const TopRows::Entry& row = top.entries[static_cast<std::size_t>(t)];
    const std::uint32_t entry = out.entry_of_row[static_cast<std::size_t>(row.row - block.first_row)];
    out.top.push_back({policy, row, out.keys[entry]});
  }
}

double* ClusterGroups::group(std::uint64_t key) {
  const std::uint64_t kept = bits_ == 64 ? key : key >> (64 - bits_);
  const auto [found, added] = index_.try_emplace(kept, keys_.size());
  if (added) {
    keys_.push_back(kept);
    table_.sums.resize(table_.sums.size() + table_.layout.width());
    ++table_.groups;
  }
  return table_.sums.data() + found->second * table_.layout.width();
}

void ClusterGroups::add(const ClusterEntries& entries) {
  const std::size_t width = table_.layout.width();
  std::size_t entry = 0;
  for (const std::size_t end : entries.block_ends) {
    for (; entry < end; ++entry) {
      double* into = group(entries.keys[entry]);
      for (std::size_t c = 0; c < width; ++c) into[c] += entries.sums[entry * width + c];
    }
    // After every block, whatever number of them comes together: so that groups do not depend on it.
    while (keys_.size() > most_) merge_down();
  }
  for (const ClusterEntries::TopRow& top : entries.top) hold(top);
}

void ClusterGroups::merge_down() {
  const std::size_t width = table_.layout.width();
  const int before = bits_;
  bits_ = before == 64 ? std::bit_width(most_) : before - 1;
  const std::vector<std::uint64_t> keys = std::exchange(keys_, {});
  const std::vector<double> sums = std::exchange(table_.sums, {});
  index_.clear();
  table_.groups = 0;
  for (std::size_t g = 0; g < keys.size(); ++g) {
    // group() takes whole hashes.
    double* into = group(before == 64 ? keys[g] : keys[g] << (64 - before));
    for (std::size_t c = 0; c < width; ++c) into[c] += sums[g * width + c];
  }
}

void ClusterGroups::hold(const ClusterEntries::TopRow& top) {
  std::vector<ClusterEntries::TopRow>& held = top_[top.policy];
  held.push_back(top);
  if (held.size() <= TopRows::kSize) return;
  // The least goes: it lies below M, as it was summed.
  held.erase(std::min_element(held.begin(), held.end(), [](const auto& a, const auto& b) {
    return a.row.weight != b.row.weight ? a.row.weight < b.row.weight : a.row.row > b.row.row;
  }));
}

void ClusterGroups::clip_top_rows(std::size_t policy, double clip) {
  for (const ClusterEntries::TopRow& top : top_[policy])
    group(top.key)[table_.layout.policy(policy) + GroupLayout::kClipped] -=
        (top.row.weight - std::min(top.row.weight, clip)) * top.row.loss;
}

}  // namespace scrm
