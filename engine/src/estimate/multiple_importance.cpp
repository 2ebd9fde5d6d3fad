#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimate/intervals.hpp"
#include "pass/pass_plan.hpp"
#include "pass/pool.hpp"
#include "pass/rollout_source.hpp"
#include "policy/log_mixture.hpp"
#include "scrm/engine/evaluate.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

/// Terms r = w y under one weighting: moments of every rollout, and of every pair of rollouts over paired rows.
struct TermSums {
  std::vector<Moments> per_rollout;
  std::vector<PairMoments> pairs;  // (0,1), (0,2), …, (1,2), …
};

constexpr int kWeightings = 2;  // naive, balance
constexpr const char* kWeightingNames[kWeightings] = {"mis-naive", "mis-balance"};

Moments moments_of(const double* values, int n) {
  double mean = 0;
  for (int i = 0; i < n; ++i) mean += (values[i] - mean) / (i + 1);
  return moments_around(mean, values, n);
}

PairMoments pair_moments_of(const double* a, const double* b, int n) {
  PairMoments out;
  if (n == 0) return out;
  out.count = n;
  for (int i = 0; i < n; ++i) {
    out.mean_a += (a[i] - out.mean_a) / (i + 1);
    out.mean_b += (b[i] - out.mean_b) / (i + 1);
  }
  for (int i = 0; i < n; ++i) out.ab += (a[i] - out.mean_a) * (b[i] - out.mean_b);
  return out;
}

/// Sums for every policy and both weightings, from blocks of all rollouts side by side.
class MisReduction final : public SizedReduction {
 public:
  struct Sums final : Partial {
    std::vector<TermSums> terms;  // [policy, weighting]
  };

  MisReduction(const std::vector<NamedPolicy>& policies,
               const std::vector<std::shared_ptr<const TargetPolicy>>& logging, std::vector<double> shares)
      : policies_(policies), logging_(logging), shares_(std::move(shares)) {}

  ReductionBytes bytes() const override {
    const std::size_t rollouts = logging_.size(), terms = policies_.size() * kWeightings;
    const std::size_t sums =
        sizeof(TermSums) + rollouts * sizeof(Moments) + rollouts * (rollouts - 1) / 2 * sizeof(PairMoments);
    std::size_t scratch = 0;
    for (const NamedPolicy& named : policies_) scratch = std::max(scratch, named.policy->scratch_bytes());
    for (const auto& policy : logging_) scratch = std::max(scratch, policy->scratch_bytes());
    return {.partial = terms * sums,
            .scratch = scratch + (terms * rollouts + 2) * kBlockRows * sizeof(double),
            .help = "fewer policies at a time"};
  }

  std::unique_ptr<Partial> make() const override {
    auto partial = std::make_unique<Sums>();
    const std::size_t rollouts = logging_.size();
    partial->terms.resize(policies_.size() * kWeightings);
    for (TermSums& sums : partial->terms) {
      sums.per_rollout.resize(rollouts);
      sums.pairs.resize(rollouts * (rollouts - 1) / 2);
    }
    return partial;
  }

  void compute(const Block& first, Partial& out) const override {
    const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
    const std::size_t rollouts = logging_.size();
    // Columns: terms of every (policy, weighting, rollout), then log mixture densities and one column to work in.
    const std::size_t terms = policies_.size() * kWeightings * rollouts;
    double* columns = scratch->columns(PolicyScratch::kCallerSlot, static_cast<std::int64_t>(terms) + 2);
    std::vector<int> rows;
    std::size_t t = 0;
    for (const Block* block = &first; block != nullptr; block = block->next_rollout, ++t) {
      rows.push_back(block->rows);
      if (block->rows > 0) compute_terms(*block, t, *scratch, columns);
    }
    for (std::size_t unit = 0; unit < policies_.size() * kWeightings; ++unit) {
      term_moments(columns + unit * rollouts * kBlockRows, rows, static_cast<Sums&>(out).terms[unit]);
    }
  }

  void merge(Partial& earlier, const Partial& later) const override {
    for (std::size_t unit = 0; unit < policies_.size() * kWeightings; ++unit) {
      TermSums& into = static_cast<Sums&>(earlier).terms[unit];
      const TermSums& from = static_cast<const Sums&>(later).terms[unit];
      for (std::size_t t = 0; t < into.per_rollout.size(); ++t) into.per_rollout[t].merge(from.per_rollout[t]);
      for (std::size_t p = 0; p < into.pairs.size(); ++p) into.pairs[p].merge(from.pairs[p]);
    }
  }

 private:
  /// r = w y of one rollout's block for every policy, with the row's own propensity and with the mixture's.
  void compute_terms(const Block& block, std::size_t rollout, PolicyScratch& scratch, double* columns) const {
    const std::size_t rollouts = logging_.size();
    double* mixture = columns + policies_.size() * kWeightings * rollouts * kBlockRows;
    double* work = mixture + kBlockRows;
    log_mixture(block, logging_, shares_, scratch, work, mixture);
    for (std::size_t p = 0; p < policies_.size(); ++p) {
      double* naive = columns + (p * kWeightings * rollouts + rollout) * kBlockRows;
      double* balance = naive + rollouts * kBlockRows;
      policies_[p].policy->weights(block, scratch, naive);
      policies_[p].policy->log_density(block, scratch, balance);
      for (int i = 0; i < block.rows; ++i) {
        naive[i] *= block.loss[i];
        balance[i] = std::exp(balance[i] - mixture[i]) * block.loss[i];
      }
    }
  }

  static void term_moments(const double* columns, const std::vector<int>& rows, TermSums& out) {
    std::size_t pair = 0;
    for (std::size_t p = 0; p < rows.size(); ++p) {
      const double* a = columns + p * kBlockRows;
      out.per_rollout[p] = moments_of(a, rows[p]);
      for (std::size_t q = p + 1; q < rows.size(); ++q) {
        out.pairs[pair++] = pair_moments_of(a, columns + q * kBlockRows, std::min(rows[p], rows[q]));
      }
    }
  }

  const std::vector<NamedPolicy>& policies_;
  const std::vector<std::shared_ptr<const TargetPolicy>>& logging_;
  std::vector<double> shares_;
  mutable Pool<PolicyScratch> scratch_;
};

/// Σ_t n_t s²(r^t): n² V where rows of different rollouts are independent.
double rollout_variances(const TermSums& sums) {
  double total = 0;
  for (const Moments& one : sums.per_rollout) {
    if (one.count > 1) total += one.count * (one.square_sum / (one.count - 1));
  }
  return total;
}

/// V = n⁻² [ Σ_t n_t s²(r^t) + 2 Σ_{p<q} n_p n_q cov(r^p, r^q) ].
double pooled_variance(const TermSums& sums, double rows) {
  double total = rollout_variances(sums);
  std::size_t pair = 0;
  for (std::size_t p = 0; p < sums.per_rollout.size(); ++p) {
    for (std::size_t q = p + 1; q < sums.per_rollout.size(); ++q, ++pair) {
      const PairMoments& both = sums.pairs[pair];
      if (both.count > 1)
        total += 2 * sums.per_rollout[p].count * sums.per_rollout[q].count * (both.ab / (both.count - 1));
    }
  }
  return total / rows / rows;
}

Estimate pooled_estimate(const TermSums& sums, const char* name, const EvaluateOptions& options,
                         std::vector<std::string>& warnings) {
  Moments all;
  for (const Moments& one : sums.per_rollout) all.merge(one);
  Estimate out;
  out.estimator = name;
  if (!std::isfinite(all.mean)) {
    warnings.push_back(fmt::format("{}: the weighted losses are too large for a number", name));
    return out;
  }
  out.value = all.mean;
  if (all.count < 2) return out;
  double variance = pooled_variance(sums, all.count);
  if (!std::isfinite(variance)) {
    warnings.push_back(
        fmt::format("{}: the weighted losses are so large that its variance is beyond the largest "
                    "number: it has no standard error and no interval; divide all losses by a constant",
                    name));
    return out;
  }
  if (variance < 0) {
    // Covariances of rollouts are estimated from pairs of rows, and their noise can outweigh all else.
    variance = rollout_variances(sums) / all.count / all.count;
    warnings.push_back(fmt::format(
        "{}: its standard error takes rollouts as independent, since the covariances estimated between them "
        "would make its variance negative",
        name));
  }
  PointEstimate point;
  point.value = all.mean;
  point.standard_error = std::sqrt(variance);
  point.range = all.range();
  out.standard_error = point.standard_error;
  if (options.interval == IntervalKind::bootstrap) {
    warnings.push_back(fmt::format("{}: its interval is normal, rollouts are not resampled", name));
  }
  const auto [low, high] = interval(options.interval, options.level, all.count, point);
  out.low = low;
  out.high = high;
  return out;
}

/// One pass with the mixture n_t/n.
PassResult run_mis_pass(RolloutSource& source, const std::vector<double>& counts,
                        const std::vector<std::shared_ptr<const TargetPolicy>>& logging,
                        const std::vector<NamedPolicy>& policies, const PassOptions& pass) {
  double rows = 0;
  for (const double count : counts) rows += count;
  std::vector<double> shares;
  for (const double count : counts) shares.push_back(count / rows);
  const MisReduction reduction(policies, logging, std::move(shares));
  return run_pass(source, reduction, pass);
}

}  // namespace

void add_multiple_importance(const std::vector<Source*>& rollouts,
                             const std::vector<std::shared_ptr<const TargetPolicy>>& logging_policies,
                             const std::vector<NamedPolicy>& policies, const EvaluateOptions& options,
                             const PassOptions& pass, EvaluationReport& report) {
  if (rollouts.size() != logging_policies.size() || rollouts.empty()) {
    throw Error(ErrorKind::usage, fmt::format("the data has {} rollouts, but {} logging policies were given; give one "
                                              "--logging-policy for each rollout, in order",
                                              rollouts.size(), logging_policies.size()));
  }
  RolloutSource source(rollouts);
  std::vector<double> counts;
  for (const Source* rollout : rollouts) counts.push_back(static_cast<double>(rollout->rows()));
  PassResult result = run_mis_pass(source, counts, logging_policies, policies, pass);
  if (!options.skip_bad_rows) require_no_bad_rows(result.audit);
  if (result.audit.bad_rows() > 0 && result.sums && !policies.empty()) {
    // The mixture's shares are those of the rows that are left, and they are known only now.
    const TermSums& sums = static_cast<const MisReduction::Sums&>(*result.sums).terms.front();
    for (std::size_t t = 0; t < counts.size(); ++t) counts[t] = sums.per_rollout[t].count;
    result = run_mis_pass(source, counts, logging_policies, policies, pass);
  }
  for (std::size_t p = 0; p < policies.size() && result.sums; ++p) {
    for (int weighting = 0; weighting < kWeightings; ++weighting) {
      const TermSums& sums = static_cast<const MisReduction::Sums&>(*result.sums)
                                 .terms[p * kWeightings + static_cast<std::size_t>(weighting)];
      report.policies[p].estimates.push_back(
          pooled_estimate(sums, kWeightingNames[weighting], options, report.policies[p].diagnostics.warnings));
    }
  }
}

}  // namespace scrm
