/// LoggedBatches: the batches logged so far, and the rows of them that a learner learns from.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/pass/pass.hpp"
#include "scrm/experiments/problem.hpp"

namespace scrm {

class LoggedBatches {
 public:
  /// Rows are held while they fit into `pass.memory` (0: always) and made anew in every pass beyond it. `problem` must
  /// outlive this.
  /// With `centre_batches` the losses of all batches are shifted to one mean, that of all rows: what the additive
  /// estimator subtracts from a loss is then the mean of the policy that logged it. Any constant a policy would do
  /// without bias, and this one has by far the least variance: a first batch may cost four times what the last one
  /// does.
  LoggedBatches(const BanditProblem& problem, PastRollouts past, bool centre_batches, const PassOptions& pass);
  ~LoggedBatches();

  /// Has the next batch logged.
  void add(const LoggingPolicy& logging_policy);

  int batches() const noexcept { return static_cast<int>(logging_policies_.size()); }
  /// Logged so far, in all batches.
  std::int64_t rows_logged() const noexcept { return rows_logged_; }
  /// What to learn from: the last batch or all of them. Valid until the next add.
  Source& rows() const { return *rows_; }

 private:
  bool fits(std::int64_t rows) const;
  void pool(std::unique_ptr<Source> batch);
  void centre();
  void balance();

  const BanditProblem& problem_;
  PastRollouts past_;
  bool centre_batches_;
  double centre_ = 0;  // mean of all rows so far
  PassOptions pass_;
  std::vector<LoggingPolicy> logging_policies_;
  std::int64_t rows_logged_ = 0;
  std::unique_ptr<MemorySource> held_;  // all batches, while they fit
  std::unique_ptr<Source> owned_;       // any other source that rows_ may be
  std::unique_ptr<Source> mixed_;       // the same rows under the balance heuristic; reads held_ or owned_
  Source* rows_ = nullptr;
};

}  // namespace scrm
