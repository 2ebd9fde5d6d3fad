#include "pass/rank_partials.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "ranks/exchange.hpp"
#include "scrm/engine/ranks/ranks.hpp"

namespace scrm {

// Not in a namespace of its own, where transfer() of std::optional would not find it.
static void transfer(ByteStream& bytes, BadValue& bad) {
  transfer(bytes, bad.reason);
  transfer(bytes, bad.file);
  transfer(bytes, bad.dataset);
  transfer(bytes, bad.row);
  transfer(bytes, bad.value);
}

namespace {

void transfer_audit(ByteStream& bytes, Audit& audit) {
  transfer(bytes, audit.counts);
  transfer(bytes, audit.first);
}

void write_nodes(RankPartials& own, ByteStream& bytes) {
  std::vector<MergeNode> nodes = own.tree.take();
  std::uint64_t count = nodes.size();
  transfer(bytes, count);
  for (MergeNode& node : nodes) {
    transfer(bytes, node.first);
    transfer(bytes, node.level);
    own.reduction.transfer(*node.partial, bytes);
    node.partial.reset();
  }
}

void read_nodes(RankPartials& own, ByteStream& bytes) {
  std::uint64_t count = 0;
  transfer(bytes, count);
  for (std::uint64_t n = 0; n < count; ++n) {
    MergeNode node;
    transfer(bytes, node.first);
    transfer(bytes, node.level);
    node.partial = own.pool.lease();
    own.reduction.transfer(*node.partial, bytes);
    own.tree.add(std::move(node));
  }
}

/// What a rank tells the one before it.
void write_partials(RankPartials& own, ByteStream& bytes) {
  transfer(bytes, own.blocks);
  transfer_audit(bytes, own.audit);
  own.reduction.transfer_kept(own.blocks, bytes);
  write_nodes(own, bytes);
}

void read_partials(RankPartials& own, ByteStream& bytes) {
  BlockRange blocks;
  Audit audit;
  transfer(bytes, blocks);
  transfer_audit(bytes, audit);
  own.reduction.transfer_kept(blocks, bytes);
  read_nodes(own, bytes);
  own.audit.merge(audit);
  own.blocks.end = blocks.end;
}

/// The root of the tree, from the first rank to the others.
void share_result(const Ranks& ranks, RankPartials& own, ByteStream& bytes) {
  transfer_audit(bytes, own.audit);
  own.reduction.transfer_kept({0, own.all_blocks}, bytes);
  PartialLease root = ranks.is_first() ? own.tree.finish() : nullptr;
  bool there = root != nullptr;
  transfer(bytes, there);
  if (!there) return;
  if (!root) root = own.pool.lease();
  own.reduction.transfer(*root, bytes);
  own.tree.take();
  own.tree.add({0, 0, std::move(root)});
}

}  // namespace

BlockRange rank_share(std::int64_t blocks, int rank, int ranks) {
  // A rank of sixteen leaves has at most twice four subtrees, and one leaf more or less than another.
  constexpr std::int64_t kLeavesOfRank = 16;
  // RowGroups has at least half as many groups of several blocks, a power of two of them: none lies in two leaves.
  constexpr std::int64_t kMostLeaves = 2048;
  const auto even = static_cast<std::uint64_t>(std::max<std::int64_t>(1, blocks / (kLeavesOfRank * ranks)));
  const auto grouped = static_cast<std::uint64_t>((blocks + kMostLeaves - 1) / kMostLeaves);
  const auto leaf = static_cast<std::int64_t>(
      std::max(std::bit_floor(even), blocks > kMostLeaves ? std::bit_ceil(grouped) : std::uint64_t{1}));
  const std::int64_t leaves = (blocks + leaf - 1) / leaf;
  const auto begin = [&](int r) { return std::min(blocks, r * leaves / ranks * leaf); };
  return {begin(rank), begin(rank + 1)};
}

void join_ranks(Ranks& ranks, RankPartials own, const std::function<void()>& work) {
  std::optional<Failure> failure;
  try {
    work();
  } catch (...) {
    failure = current_failure(ranks);
  }
  exchange(ranks,
           {.contribute = [&](ByteStream& bytes) { write_partials(own, bytes); },
            .absorb = [&](ByteStream& bytes) { read_partials(own, bytes); },
            .result = [&](ByteStream& bytes) { share_result(ranks, own, bytes); }},
           std::move(failure));
}

}  // namespace scrm
