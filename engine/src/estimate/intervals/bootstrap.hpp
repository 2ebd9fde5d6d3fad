/// Poisson bootstrap of all policies at once, from sums over small groups of rows.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "estimate/difference.hpp"
#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/pass/pass.hpp"

namespace scrm {

/// What the chosen estimators need beside the sums of weights.
struct ExtraTerms {
  bool labels = false;                  ///< those of the additive estimator
  std::vector<const Estimator*> given;  ///< the estimators with WeightTransform::given: a column t(w) y each

  void add(const Estimator& estimator);
  std::size_t index(const Estimator& estimator) const;
};

/// Sums over groups of consecutive rows, filled during the pass (each block writes its own groups, so threads never
/// meet) and resampled afterwards. Up to kMaxGroups rows every row is a group of its own; above, groups are the
/// smallest power of two of rows that keeps their number there, or a block at most. Rows are independent draws, so
/// groups are too, and their Poisson resampling has the same limit; its cost stays the same however many rows there
/// are.
class Bootstrap {
 public:
  static constexpr std::int64_t kMaxGroups = 32768;

  Bootstrap(std::int64_t rows, std::size_t policies, const ExtraTerms& extra);

  static std::size_t bytes(std::int64_t rows, std::size_t policies, const ExtraTerms& extra);

  /// Sums of one policy over the groups of one block. `excess` is the additive estimator's S, or null.
  void add_block(const Block& block, std::size_t policy, const double* weights, const WeightOptions& rules,
                 const double* excess);
  /// The same for the terms of one of the given transforms.
  void add_block_terms(const Block& block, std::size_t policy, std::size_t given, const double* terms);
  /// Row counts and losses of one block, shared by all policies.
  void add_block_losses(const Block& block);

  /// Brings the top rows down to the automatic M, known only after the pass.
  void clip_top_rows(std::size_t policy, const TopRows& top, double clip);

  /// What an estimator makes of the replicates of a policy.
  struct Column {
    std::size_t policy = 0;
    const Estimator* estimator = nullptr;
    Baseline baseline = {};  ///< whose value is taken off, in the same replicate
  };
  /// Draws replicates 0..count−1 and gives the values of each column, the same bits at any thread count and whatever
  /// columns are asked for together.
  std::vector<std::vector<double>> replicate(std::uint64_t seed, int count, std::span<const Column> columns,
                                             int threads) const;
  /// Bytes that the values of one column take, and those that each thread of replicate() works with.
  static std::size_t column_bytes(int count) { return static_cast<std::size_t>(count) * sizeof(double); }
  std::size_t thread_bytes() const;

 private:
  /// A weighted loss that is not in its group's sum of min(w, M) y yet.
  struct HeldRow {
    std::size_t policy = 0;
    std::int64_t row = 0;
    double weight = 0, loss = 0;
  };
  using HeldRows = std::array<HeldRow, TopRows::kSize>;

  double* group(std::int64_t row);
  /// Whether a row has to wait until M is known: taken back out of a sum, a huge weight would leave nothing of it.
  bool is_held(double weight) const noexcept;
  /// Holds the row; where a block has held as many as M can clip, the one with the least weight goes into its sum.
  void hold(const HeldRow& row, HeldRows& held, int& count);
  double value(const double* totals, const Column& column) const;
  double policy_value(const double* totals, std::size_t policy, const Estimator& estimator) const;
  std::size_t terms_column(const Estimator& estimator) const;

  std::int64_t group_rows_;
  std::int64_t groups_;
  ExtraTerms extra_;
  std::size_t policy_width_;  // sums of a policy
  std::size_t width_;         // sums a group: two shared ones, then those of each policy
  std::vector<double> sums_;  // [groups, width]
  std::mutex held_mutex_;
  std::vector<HeldRow> held_;  // of all blocks, in no order
};

}  // namespace scrm
