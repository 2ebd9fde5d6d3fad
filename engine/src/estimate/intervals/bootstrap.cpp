#include "estimate/intervals/bootstrap.hpp"

#include <cblas.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "schedule/arena.hpp"
#include "scrm/kernels/poisson.hpp"

namespace scrm {
namespace {

constexpr std::size_t kSharedSums = 2;  // rows, loss
constexpr std::size_t kPolicySums = 4;  // w, w y, min(w, M) y, w_ix y
constexpr std::size_t kLabelSums = 2;   // y + y S, S

// Replicates of a task and groups of a matrix product: fixed, so that results do not depend on threads. The counts of
// one product (64 × 512 doubles) fill half of a small L2.
constexpr int kTaskReplicates = 64;
constexpr int kTileGroups = 512;

// Weights above this are clipped before they are summed, those below are taken back out of the sum afterwards: ten of
// sixteen digits are left of it at least.
constexpr double kLargestSubtracted = 0x1p20;

std::int64_t rows_per_group(std::int64_t rows) {
  std::int64_t size = 1;
  while (size < kBlockRows && (rows + size - 1) / size > Bootstrap::kMaxGroups) size *= 2;
  return size;
}

std::size_t sums_per_policy(const ExtraTerms& extra) {
  return kPolicySums + (extra.labels ? kLabelSums : 0) + extra.given.size();
}

}  // namespace

void ExtraTerms::add(const Estimator& estimator) {
  labels = labels || estimator.label_sums;
  if (estimator.transform == WeightTransform::given && index(estimator) == given.size()) given.push_back(&estimator);
}

std::size_t ExtraTerms::index(const Estimator& estimator) const {
  return static_cast<std::size_t>(std::find(given.begin(), given.end(), &estimator) - given.begin());
}

Bootstrap::Bootstrap(std::int64_t rows, std::size_t policies, const ExtraTerms& extra)
    : group_rows_(rows_per_group(rows)),
      groups_((rows + group_rows_ - 1) / group_rows_),
      extra_(extra),
      policy_width_(sums_per_policy(extra)),
      width_(kSharedSums + policies * policy_width_),
      sums_(static_cast<std::size_t>(groups_) * width_) {}

std::size_t Bootstrap::bytes(std::int64_t rows, std::size_t policies, const ExtraTerms& extra) {
  const std::int64_t size = rows_per_group(rows);
  const std::size_t width = kSharedSums + policies * sums_per_policy(extra);
  return static_cast<std::size_t>((rows + size - 1) / size) * width * sizeof(double);
}

double* Bootstrap::group(std::int64_t row) {
  return sums_.data() + static_cast<std::size_t>(row / group_rows_) * width_;
}

void Bootstrap::add_block_losses(const Block& block) {
  for (int i = 0; i < block.rows; ++i) {
    double* sums = group(block.first_row + i);
    sums[0] += 1;
    sums[1] += block.loss[i];
  }
}

bool Bootstrap::is_held(double weight) const noexcept {
  return group_rows_ > 1 && weight > kLargestSubtracted;
}

void Bootstrap::hold(const HeldRow& row, HeldRows& held, int& count) {
  if (count < static_cast<int>(held.size())) {
    held[static_cast<std::size_t>(count++)] = row;
    return;
  }
  HeldRow least = row;
  for (HeldRow& other : held) {
    if (other.weight < least.weight) std::swap(other, least);
  }
  group(least.row)[kSharedSums + least.policy * policy_width_ + 2] += least.weight * least.loss;
}

void Bootstrap::add_block(const Block& block, std::size_t policy, const double* weights, const WeightOptions& rules,
                          const double* excess) {
  const std::size_t offset = kSharedSums + policy * policy_width_;
  const bool automatic = rules.clip == 0;
  HeldRows held;
  int held_count = 0;
  for (int i = 0; i < block.rows; ++i) {
    double* sums = group(block.first_row + i) + offset;
    const double w = weights[i];
    const double y = block.loss[i];
    sums[0] += w;
    sums[1] += w * y;
    if (automatic && is_held(w)) {
      hold({policy, block.first_row + i, w, y}, held, held_count);
    } else {
      sums[2] += (automatic ? w : std::min(w, rules.clip)) * y;
    }
    sums[3] += w * y / (1 + rules.alpha * w);
    if (excess != nullptr) {
      sums[4] += y + y * excess[i];
      sums[5] += excess[i];
    }
  }
  if (held_count == 0) return;
  const std::lock_guard lock(held_mutex_);
  held_.insert(held_.end(), held.begin(), held.begin() + held_count);
}

void Bootstrap::add_block_terms(const Block& block, std::size_t policy, std::size_t given, const double* terms) {
  const std::size_t column = kSharedSums + policy * policy_width_ + terms_column(*extra_.given[given]);
  for (int i = 0; i < block.rows; ++i) group(block.first_row + i)[column] += terms[i];
}

std::size_t Bootstrap::terms_column(const Estimator& estimator) const {
  switch (estimator.transform) {
    case WeightTransform::clip:
      return 2;
    case WeightTransform::ix:
      return 3;
    case WeightTransform::given:
      return kPolicySums + (extra_.labels ? kLabelSums : 0) + extra_.index(estimator);
    case WeightTransform::none:
      break;
  }
  return 1;
}

void Bootstrap::clip_top_rows(std::size_t policy, const TopRows& top, double clip) {
  const std::size_t offset = kSharedSums + policy * policy_width_;
  // In the order of rows, so that threads cannot change a bit. Only top rows lie above M.
  std::sort(held_.begin(), held_.end(), [](const HeldRow& a, const HeldRow& b) { return a.row < b.row; });
  for (const HeldRow& held : held_) {
    if (held.policy == policy) group(held.row)[offset + 2] += std::min(held.weight, clip) * held.loss;
  }
  for (int t = 0; t < top.count; ++t) {
    const TopRows::Entry& entry = top.entries[static_cast<std::size_t>(t)];
    if (is_held(entry.weight)) continue;
    double& sum = group(entry.row)[offset + 2];
    // A row that is its own group is clipped exactly.
    const double kept = std::min(entry.weight, clip) * entry.loss;
    sum = group_rows_ == 1 ? kept : sum - (entry.weight - std::min(entry.weight, clip)) * entry.loss;
  }
}

std::size_t Bootstrap::thread_bytes() const {
  return kTaskReplicates * (kTileGroups + width_) * sizeof(double);
}

std::vector<std::vector<double>> Bootstrap::replicate(std::uint64_t seed, int count, std::span<const Column> columns,
                                                      int threads) const {
  std::vector<std::vector<double>> values(columns.size());
  for (std::vector<double>& column : values) column.resize(static_cast<std::size_t>(count));
  const int tasks = (count + kTaskReplicates - 1) / kTaskReplicates;
  const int width = static_cast<int>(width_);
  const auto run_task = [&](int task) {
    const int first = task * kTaskReplicates;
    const int replicates = std::min(kTaskReplicates, count - first);
    std::vector<double> counts(static_cast<std::size_t>(replicates) * kTileGroups);
    std::vector<double> totals(static_cast<std::size_t>(replicates) * width_);
    for (std::int64_t g = 0; g < groups_; g += kTileGroups) {
      const int tile = static_cast<int>(std::min<std::int64_t>(kTileGroups, groups_ - g));
      for (int r = 0; r < replicates; ++r) {
        poisson_counts(seed, static_cast<std::uint32_t>(first + r), static_cast<std::uint64_t>(g), tile,
                       counts.data() + static_cast<std::size_t>(r) * kTileGroups);
      }
      // Totals of all policies at once: [replicates, groups] counts times [groups, sums].
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, replicates, width, tile, 1.0, counts.data(), kTileGroups,
                  sums_.data() + static_cast<std::size_t>(g) * width_, width, 1.0, totals.data(), width);
    }
    for (std::size_t r = 0; r < static_cast<std::size_t>(replicates); ++r) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        values[c][static_cast<std::size_t>(first) + r] = value(totals.data() + r * width_, columns[c]);
      }
    }
  };
  in_arena(threads, [&] { tbb::parallel_for(0, tasks, run_task); });
  return values;
}

double Bootstrap::value(const double* totals, const Column& column) const {
  const double own = policy_value(totals, column.policy, *column.estimator);
  switch (column.baseline.kind) {
    case Baseline::Kind::logged:
      return own - totals[1] / totals[0];
    case Baseline::Kind::policy:
      return own - policy_value(totals, column.baseline.policy, *column.estimator);
    case Baseline::Kind::none:
      break;
  }
  return own;
}

double Bootstrap::policy_value(const double* totals, std::size_t policy, const Estimator& estimator) const {
  const double* own = totals + kSharedSums + policy * policy_width_;
  return estimator.replicate({.rows = totals[0],
                              .loss = totals[1],
                              .weight = own[0],
                              .weighted_loss = own[1],
                              .terms = own[terms_column(estimator)],
                              .additive_u = extra_.labels ? own[4] : 0,
                              .additive_s = extra_.labels ? own[5] : 0});
}

}  // namespace scrm
