/// RowGroups: sums over groups of consecutive rows, filled during a pass.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "estimate/groups/group_layout.hpp"
#include "scrm/engine/ranks/byte_stream.hpp"
#include "scrm/kernels/block.hpp"
#include "scrm/kernels/weights/group_sums.hpp"
#include "scrm/kernels/weights/weight_sums.hpp"

namespace scrm {

/// The sums of one whole block. Where M is automatic, the largest weights wait for it beside the others.
struct BlockSums {
  std::int64_t first_row = 0;
  std::vector<double> sums;  ///< [layout.width()]; kClipped without the rows of `top` unless M is given
  std::vector<TopRows> top;  ///< of each policy; empty where M is given

  /// Sets the sums of a policy; `rules` are those of the pass.
  void set_policy(const GroupLayout& layout, std::size_t policy, const WeightSums& weights, const WeightOptions& rules);
};

/// Rows are independent draws, so groups of them are too: what the groups' sums say of an estimate's distribution
/// (resampled, or by their higher moments) has the limit that rows themselves would give, and costs the same however
/// many rows there are. Groups are a power of two of rows. Those within a block are written by whoever reduces the
/// block, so threads never meet; those of several blocks are added up in the order of blocks.
class RowGroups {
 public:
  static constexpr std::int64_t kMostGroups = 32768;

  /// Rows of a group of the bootstrap: the fewest that keep the groups at kMostGroups, or a block at most.
  static std::int64_t bootstrap_group_rows(std::int64_t rows);
  /// Rows of a group where only the shape of a distribution is asked for: fewer groups for many policies, and whole
  /// blocks, whose sums are there anyway, as soon as there are some thousands of them.
  static std::int64_t shape_group_rows(std::int64_t rows, std::size_t policies);

  RowGroups(std::int64_t rows, std::int64_t group_rows, const GroupLayout& layout);
  static std::size_t bytes(std::int64_t rows, std::int64_t group_rows, const GroupLayout& layout);

  /// Whether add_block is of no use, since groups are whole blocks.
  bool by_block() const noexcept { return group_rows_ >= kBlockRows; }

  // Groups within a block: sums of one policy, `excess` being the additive estimator's S or null; any other terms, `at`
  // being their place within the policy; row counts and losses, shared by all policies.
  void add_block(const Block& block, std::size_t policy, const double* weights, const WeightOptions& rules,
                 const double* excess);
  void add_block_terms(const Block& block, std::size_t policy, std::size_t at, const double* terms);
  void add_block_losses(const Block& block);

  /// Groups of whole blocks: what the pass knows of one block. One call at a time, in the order of blocks.
  void add_block_sums(const BlockSums& sums);

  /// Brings the top rows down to the automatic M, known only after the pass.
  void clip_top_rows(std::size_t policy, const TopRows& top, double clip);

  /// Writes the groups of rows [first, end), or sets them to what is read. No group may lie on either side.
  void transfer(std::int64_t first, std::int64_t end, ByteStream& bytes);

  const GroupTable& table() const noexcept { return table_; }
  GroupTable& table() noexcept { return table_; }

 private:
  /// A weighted loss that is not in its group's sum of min(w, M) y yet.
  struct HeldRow {
    double weight = 0, loss = 0;
    std::int64_t row = 0;
  };
  /// As many rows as M can clip.
  struct HeldRows {
    std::array<HeldRow, TopRows::kSize> rows;
    int count = 0;
  };

  double* group(std::int64_t row);
  /// Calls add(sums of the group, first, end) for the rows [first, end) of the block that lie in each of its groups.
  template <class Add>
  void each_group(const Block& block, Add add);
  RowsOfGroups groups_of_block(const Block& block);
  /// Sums of min(w, M) y of a block with huge weights, before M is known.
  void hold_block(const Block& block, std::size_t policy, const double* weights);
  /// Whether a row has to wait until M is known: taken back out of a sum, a huge weight would leave nothing of it.
  bool is_held(double weight) const noexcept;
  void add_clipped(std::size_t policy, const HeldRow& row, double weight);
  /// Holds a row of a block, or of a group of blocks; where there is no room left, the one with the least weight goes
  /// into its sum.
  void hold(std::size_t policy, const HeldRow& row, HeldRows& held);
  /// Holds rows of a policy beside those of other groups, all of a group at once. Those that are not among the largest
  /// of the policy lie below M and go into their sums, the least first. So each group takes up its rows in the order of
  /// their weights, now or when M is known, whatever the order in which groups come.
  void hold_all(std::size_t policy, HeldRows& held);

  std::int64_t group_rows_;
  GroupTable table_;
  /// Where groups are whole blocks, the rows held of the group at hand.
  struct OpenGroup {
    std::int64_t group = -1;
    HeldRows held;
  };
  void close_groups();

  std::mutex held_mutex_;
  std::vector<HeldRows> held_;   // of each policy, the least weight first
  std::vector<OpenGroup> open_;  // of each policy
};

}  // namespace scrm
