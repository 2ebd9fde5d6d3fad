#include "sweep/run/logged_batches.hpp"

#include <fmt/format.h>

#include <utility>

#include "scrm/engine/pass/balance_heuristic_source.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

LoggedBatches::LoggedBatches(const BanditProblem& problem, PastRollouts past, bool centre_batches,
                             const PassOptions& pass)
    : problem_(problem), past_(past), centre_batches_(centre_batches), pass_(pass) {}

LoggedBatches::~LoggedBatches() = default;

bool LoggedBatches::fits(std::int64_t rows) const {
  const double bytes =
      static_cast<double>(block_buffer_bytes(problem_.schema())) / kBlockRows * static_cast<double>(rows);
  return pass_.memory == 0 || bytes <= static_cast<double>(pass_.memory);
}

void LoggedBatches::add(const LoggingPolicy& logging_policy) {
  const int number = batches();
  logging_policies_.push_back(logging_policy);
  rows_logged_ += problem_.shape().batch_rows(number);
  std::unique_ptr<Source> batch = problem_.batch(logging_policy, number);
  if (past_ != PastRollouts::last) return pool(std::move(batch));
  // Its rows are not needed any more, and two batches at once would not be what the run was admitted with.
  owned_.reset();
  if (fits(batch->rows()) && dynamic_cast<MemorySource*>(batch.get()) == nullptr) {
    owned_ = std::make_unique<MemorySource>(*batch, pass_, false);
  } else {
    owned_ = std::move(batch);
  }
  rows_ = owned_.get();
}

void LoggedBatches::pool(std::unique_ptr<Source> batch) {
  mixed_.reset();  // of the batches before
  if (batches() == 1 || held_) {
    if (fits(rows_logged_)) {
      if (!held_) held_ = std::make_unique<MemorySource>(batch->schema());
      held_->extend(*batch, pass_);
      if (centre_batches_) centre();
      rows_ = held_.get();
      return past_ == PastRollouts::balance ? balance() : void();
    }
    held_.reset();
  }
  owned_ = problem_.regenerated_batches(logging_policies_);
  if (!owned_) {
    throw Error(ErrorKind::memory,
                fmt::format("{} logged rows do not fit into the budget, and this environment cannot make them anew; "
                            "give a larger --memory",
                            rows_logged_));
  }
  rows_ = owned_.get();
  if (past_ == PastRollouts::balance) balance();
}

void LoggedBatches::centre() {
  const std::int64_t last = held_->rows(), first = last - problem_.shape().batch_rows(batches() - 1);
  // Rows before the batch are centred already, so that the mean of the batch is what the mean of all leaves.
  const auto [losses, audit] = run_pass(
      *held_, Moments{},
      [](const Block& block, Moments& out) {
        out = Moments{};
        for (int i = 0; i < block.rows; ++i) out.merge(Moments::of(block.loss[i]));
      },
      [](Moments& a, const Moments& b) { a.merge(b); }, pass_);
  const auto before = static_cast<double>(first), rows = static_cast<double>(last);
  const double batch_mean = (losses.mean * rows - centre_ * before) / (rows - before);
  held_->shift_losses(0, first, losses.mean - centre_);
  held_->shift_losses(first, last, losses.mean - batch_mean);
  centre_ = losses.mean;
}

void LoggedBatches::balance() {
  std::vector<std::shared_ptr<const TargetPolicy>> policies;
  std::vector<double> shares;
  for (int b = 0; b < batches(); ++b) {
    policies.push_back(make_target_policy(logging_policies_[static_cast<std::size_t>(b)].policy, problem_.schema(),
                                          "a deployed policy"));
    shares.push_back(static_cast<double>(problem_.shape().batch_rows(b)) / static_cast<double>(rows_logged_));
  }
  auto mixed = std::make_unique<BalanceHeuristicSource>(*rows_, std::move(policies), std::move(shares));
  // The mixture is worked out once and held where it fits: a search passes over the rows many times.
  if (fits(2 * rows_logged_)) {
    mixed_ = std::make_unique<MemorySource>(*mixed, pass_, false);
  } else {
    mixed_ = std::move(mixed);
  }
  rows_ = mixed_.get();
}

}  // namespace scrm
