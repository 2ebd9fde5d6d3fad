/// LabelledProblem: what bandit problems made of supervised data share: the split, the batches, and who logs them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/experiments/problem.hpp"
#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

/// Rows are met in a random order, those kept apart for the test once, the others `replays` times within their batch.
/// What an action is and what it costs is said by a problem of bits or one of classes.
class LabelledProblem : public BanditProblem {
 public:
  LabelledProblem(std::shared_ptr<const LabelledData> data, ProblemShape shape, std::uint64_t seed,
                  const RunOptions& options);

  const Policy& start() const override { return start_; }
  const Policy& first_policy(bool) const override { return first_; }
  const Policy& baseline_policy() const override { return first_; }
  std::unique_ptr<Source> batch(const LoggingPolicy& logging_policy, int batch) const override;

 protected:
  /// A block of contexts: rows [first, first + rows / replays) of a list of rows.
  struct FilledBlock {
    std::unique_ptr<BlockBuffer> buffer;
    std::int64_t first = 0;
    int rows = 0;
  };
  /// What acting on one block after another reuses.
  struct ActingScratch {
    PolicyScratch policy, columns;
  };

  const LabelledData& data() const noexcept { return *data_; }
  const RunOptions& options() const noexcept { return options_; }
  const std::vector<std::int64_t>& train() const noexcept { return train_; }
  const std::vector<std::int64_t>& test() const noexcept { return test_; }
  const std::vector<FilledBlock>& test_contexts() const noexcept { return test_contexts_; }
  /// visit(block, scores) for every block of test contexts, a column of the policy's scores for every label.
  void visit_test_scores(const Policy& policy,
                         const std::function<void(const FilledBlock& block, const double* scores)>& visit) const;
  /// The training rows that the first policy is fitted to; perhaps none.
  std::span<const std::int64_t> first_policy_rows() const;
  /// The policy that logs first; learning starts from the same kind with θ = 0.
  void set_first_policy(Policy policy);

  /// Test contexts with room for actions.
  Schema acted_schema() const { return context_schema(false, RowStage::acted); }
  Schema test_schema() const { return context_schema(false, RowStage::contexts); }

  /// Draws the block's actions by the policy and records their propensities.
  virtual void act(const LoggingPolicy& logging_policy, const TargetPolicy& target, const FilledBlock& filled,
                   ActingScratch& scratch) const;
  /// The loss of every training row of the block, by its action.
  virtual void compute_losses(const FilledBlock& filled) const = 0;

  std::uint64_t seed() const noexcept { return seed_; }
  Block acted_block(const FilledBlock& filled) const {
    return filled.buffer->view(filled.first * options_.replays, filled.rows);
  }

 private:
  Schema context_schema(bool logged, RowStage stage) const;
  /// First training row of a batch.
  std::int64_t begin(int batch) const;
  std::vector<FilledBlock> contexts(const std::vector<std::int64_t>& rows, std::int64_t first, std::int64_t last,
                                    bool logged) const;

  std::shared_ptr<const LabelledData> data_;
  std::uint64_t seed_;
  RunOptions options_;
  std::vector<std::int64_t> train_, test_;
  Policy first_, start_;
  std::vector<FilledBlock> test_contexts_;
};

}  // namespace scrm
