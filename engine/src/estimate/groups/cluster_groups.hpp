/// ClusterGroups: sums over rows that belong together, wherever they lie in the data.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "estimate/groups/group_layout.hpp"
#include "scrm/engine/ranks/byte_stream.hpp"
#include "scrm/kernels/block.hpp"
#include "scrm/kernels/weights/weight_sums.hpp"

namespace scrm {

/// The clusters of a block, or of consecutive blocks one after the other.
struct ClusterEntries {
  std::vector<std::uint64_t> keys;
  std::vector<double> sums;             ///< [keys, layout.width()]
  std::vector<std::size_t> block_ends;  ///< where the keys of each block end

  /// A row among the largest weights of its block, whose min(w, M) y waits until M is known.
  struct TopRow {
    std::size_t policy = 0;
    TopRows::Entry row;
    std::uint64_t key = 0;
  };
  std::vector<TopRow> top;

  std::vector<std::uint32_t> entry_of_row;  ///< of the block at hand

  void clear();
  void append(const ClusterEntries& later);
  void transfer(ByteStream& bytes);
};

/// Up to most_clusters() every cluster has sums of its own. Beyond, clusters are put together at random (by a hash of
/// their numbers) until they fit: what is independent stays so, and there are still thousands of groups.
class ClusterGroups {
 public:
  explicit ClusterGroups(const GroupLayout& layout);

  static std::int64_t most_clusters(std::size_t policies);
  static std::size_t bytes(const GroupLayout& layout);
  /// Bytes that the entries of one block take at most.
  static std::size_t block_bytes(const GroupLayout& layout);

  // On any thread: the clusters of a block with row counts and losses; then the sums of each policy, `excess` being the
  // additive estimator's S or null; then any other terms, `at` being their place within
  // the policy.
  void begin_block(const Block& block, ClusterEntries& out) const;
  void add_block(const Block& block, std::size_t policy, const double* weights, const WeightOptions& rules,
                 const double* excess, ClusterEntries& out) const;
  void add_block_terms(const Block& block, std::size_t policy, std::size_t at, const double* terms,
                       ClusterEntries& out) const;
  /// After a policy's largest weights are known; only where M is automatic.
  void hold_top_rows(const Block& block, std::size_t policy, const TopRows& top, ClusterEntries& out) const;

  /// Adds consecutive blocks. One call at a time, in the order of blocks.
  void add(const ClusterEntries& entries);
  /// Brings the top rows down to the automatic M, known only after the pass.
  void clip_top_rows(std::size_t policy, double clip);

  const GroupTable& table() const noexcept { return table_; }
  GroupTable& table() noexcept { return table_; }
  /// Whether clusters had to be put together.
  bool merged() const noexcept { return bits_ < 64; }

 private:
  double* group(std::uint64_t key);
  void hold(const ClusterEntries::TopRow& top);
  void merge_down();

  GroupTable table_;
  std::size_t most_;
  int bits_ = 64;  // of the hash that still tell groups apart
  std::unordered_map<std::uint64_t, std::size_t> index_;
  std::vector<std::uint64_t> keys_;                       // of the groups, in the order of their first rows
  std::vector<std::vector<ClusterEntries::TopRow>> top_;  // of each policy
};

}  // namespace scrm
