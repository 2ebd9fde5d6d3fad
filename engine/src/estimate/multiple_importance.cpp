#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimate/difference.hpp"
#include "estimate/intervals/intervals.hpp"
#include "pass/pass_plan.hpp"
#include "pass/pool.hpp"
#include "pass/source/rollout_source.hpp"
#include "policy/log_mixture.hpp"
#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

/// Terms r = w y under one weighting: moments of every rollout, and of every pair of rollouts over paired rows.
struct TermSums {
  std::vector<Moments> per_rollout;
  std::vector<PairMoments> pairs;  // (0,1), (0,2), …, (1,2), …

  void transfer(ByteStream& bytes) {
    scrm::transfer(bytes, per_rollout);
    scrm::transfer(bytes, pairs);
  }
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
    std::vector<TermSums> terms;        // [policy, weighting]
    std::vector<TermSums> differences;  // the same minus those of the baseline; empty without one
  };

  MisReduction(const std::vector<NamedPolicy>& policies,
               const std::vector<std::shared_ptr<const TargetPolicy>>& logging, std::vector<double> shares,
               const Baseline& baseline)
      : policies_(policies), logging_(logging), shares_(std::move(shares)), baseline_(baseline) {}

  ReductionBytes bytes() const override {
    const std::size_t rollouts = logging_.size(), terms = policies_.size() * kWeightings;
    const std::size_t sums =
        sizeof(TermSums) + rollouts * sizeof(Moments) + rollouts * (rollouts - 1) / 2 * sizeof(PairMoments);
    std::size_t scratch = 0;
    for (const NamedPolicy& named : policies_) scratch = std::max(scratch, named.policy->scratch_bytes());
    for (const auto& policy : logging_) scratch = std::max(scratch, policy->scratch_bytes());
    return {.partial = (compares() ? 2 : 1) * terms * sums,
            .scratch = scratch + ((terms + 1) * rollouts + 2) * kBlockRows * sizeof(double),
            .help = "fewer policies at a time"};
  }

  std::unique_ptr<Partial> make() const override {
    auto partial = std::make_unique<Sums>();
    const std::size_t rollouts = logging_.size();
    TermSums empty;
    empty.per_rollout.resize(rollouts);
    empty.pairs.resize(rollouts * (rollouts - 1) / 2);
    partial->terms.resize(policies_.size() * kWeightings, empty);
    if (compares()) partial->differences.resize(policies_.size() * kWeightings, empty);
    return partial;
  }

  void compute(const Block& first, Partial& out) const override {
    const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
    const std::size_t rollouts = logging_.size();
    // Columns: terms of every (policy, weighting, rollout), then log mixture densities and one column to work in, then
    // differences of terms by rollout.
    const std::size_t units = policies_.size() * kWeightings;
    const std::size_t terms = units * rollouts;
    double* columns = scratch->columns(PolicyScratch::kCallerSlot, static_cast<std::int64_t>(terms + 2 + rollouts));
    std::vector<int> rows;
    std::size_t t = 0;
    for (const Block* block = &first; block != nullptr; block = block->next_rollout, ++t) {
      rows.push_back(block->rows);
      if (block->rows > 0) compute_terms(*block, t, *scratch, columns);
    }
    auto& sums = static_cast<Sums&>(out);
    for (std::size_t unit = 0; unit < units; ++unit)
      term_moments(columns + unit * rollouts * kBlockRows, rows, sums.terms[unit]);
    double* difference = columns + (terms + 2) * kBlockRows;
    for (std::size_t unit = 0; unit < sums.differences.size(); ++unit) {
      subtract_baseline(first, unit, columns, difference);
      term_moments(difference, rows, sums.differences[unit]);
    }
  }

  void merge(Partial& earlier, const Partial& later) const override {
    auto& into = static_cast<Sums&>(earlier);
    const auto& from = static_cast<const Sums&>(later);
    for (std::size_t unit = 0; unit < into.terms.size(); ++unit) merge_terms(into.terms[unit], from.terms[unit]);
    for (std::size_t unit = 0; unit < into.differences.size(); ++unit)
      merge_terms(into.differences[unit], from.differences[unit]);
  }

  void transfer(Partial& sums, ByteStream& bytes) const override {
    scrm::transfer(bytes, static_cast<Sums&>(sums).terms);
    scrm::transfer(bytes, static_cast<Sums&>(sums).differences);
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

  /// Terms of a (policy, weighting) minus those of the baseline: r of the same weighting, or y where it is the logged
  /// actions.
  void subtract_baseline(const Block& first, std::size_t unit, const double* columns, double* out) const {
    const std::size_t rollouts = logging_.size();
    const std::size_t other = baseline_.policy * kWeightings + unit % kWeightings;
    std::size_t t = 0;
    for (const Block* block = &first; block != nullptr; block = block->next_rollout, ++t) {
      const double* own = columns + (unit * rollouts + t) * kBlockRows;
      const double* base =
          baseline_.kind == Baseline::Kind::policy ? columns + (other * rollouts + t) * kBlockRows : block->loss;
      for (int i = 0; i < block->rows; ++i) out[t * kBlockRows + static_cast<std::size_t>(i)] = own[i] - base[i];
    }
  }

  static void merge_terms(TermSums& into, const TermSums& from) {
    for (std::size_t t = 0; t < into.per_rollout.size(); ++t) into.per_rollout[t].merge(from.per_rollout[t]);
    for (std::size_t p = 0; p < into.pairs.size(); ++p) into.pairs[p].merge(from.pairs[p]);
  }

  bool compares() const noexcept { return baseline_.kind != Baseline::Kind::none; }

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
  Baseline baseline_;
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

/// `called` is how warnings call the estimate.
Estimate pooled_estimate(const TermSums& sums, const char* name, const std::string& called,
                         const EvaluateOptions& options, std::vector<std::string>& warnings) {
  Moments all;
  for (const Moments& one : sums.per_rollout) all.merge(one);
  Estimate out;
  out.estimator = name;
  if (!std::isfinite(all.mean)) {
    warnings.push_back(fmt::format("{}: the weighted losses are too large for a number", called));
    return out;
  }
  out.value = all.mean;
  const bool spread =
      std::any_of(sums.per_rollout.begin(), sums.per_rollout.end(), [](const Moments& one) { return one.count > 1; });
  if (!spread) return out;  // one row of a rollout says nothing about its variance
  double variance = pooled_variance(sums, all.count);
  if (!std::isfinite(variance)) {
    warnings.push_back(
        fmt::format("{}: the weighted losses are so large that its variance is beyond the largest "
                    "number: it has no standard error and no interval; divide all losses by a constant",
                    called));
    return out;
  }
  // Covariances of rollouts are estimated from pairs of rows, and their noise can outweigh all else.
  const double independent = rollout_variances(sums) / all.count / all.count;
  constexpr double kOutweighs = 2;
  if (variance < 0) {
    variance = independent;
    warnings.push_back(fmt::format(
        "{}: its standard error takes rollouts as independent, since the covariances estimated between them "
        "would make its variance negative",
        called));
  } else if (variance > kOutweighs * independent || variance < independent / kOutweighs) {
    warnings.push_back(
        fmt::format("{}: its standard error of {:.2g} is made by the covariances estimated between rollouts, which are "
                    "mostly noise where rows are independent of each other; without them it is {:.2g}",
                    called, std::sqrt(variance), std::sqrt(independent)));
  }
  PointEstimate point;
  point.value = all.mean;
  point.standard_error = std::sqrt(variance);
  point.range = all.range();
  out.standard_error = point.standard_error;
  // Rollouts are not resampled, and the shape of their terms is not known: kinds that need more are normal.
  const bool simple = options.interval == IntervalKind::student || options.interval == IntervalKind::bernstein;
  const Bounds bounds =
      interval(simple ? options.interval : IntervalKind::normal, options.level, {.rows = all.count, .point = point});
  out.low = bounds->first;
  out.high = bounds->second;
  return out;
}

/// One pass with the mixture n_t/n.
PassResult run_mis_pass(RolloutSource& source, const std::vector<double>& counts,
                        const std::vector<std::shared_ptr<const TargetPolicy>>& logging,
                        const std::vector<NamedPolicy>& policies, const Baseline& baseline, const PassOptions& pass) {
  double rows = 0;
  for (const double count : counts) rows += count;
  std::vector<double> shares;
  for (const double count : counts) shares.push_back(count / rows);
  const MisReduction reduction(policies, logging, std::move(shares), baseline);
  return run_pass(source, reduction, pass);
}

}  // namespace

void add_multiple_importance(const std::vector<Source*>& rollouts,
                             const std::vector<std::shared_ptr<const TargetPolicy>>& logging_policies,
                             const std::vector<NamedPolicy>& policies, const EvaluateOptions& options,
                             const PassOptions& pass, EvaluationReport& report) {
  if (rollouts.size() != logging_policies.size() || rollouts.empty()) {
    throw Error(
        ErrorKind::usage,
        fmt::format("the data has {}, but {} logging {} given; give one --logging-policy for each rollout, in order",
                    count_of(std::ssize(rollouts), "rollout"), logging_policies.size(),
                    logging_policies.size() == 1 ? "policy was" : "policies were"));
  }
  RolloutSource source(rollouts);
  std::vector<double> counts;
  for (const Source* rollout : rollouts) counts.push_back(static_cast<double>(rollout->rows()));
  const Baseline baseline = find_baseline(options.baseline, policies);
  PassResult result = run_mis_pass(source, counts, logging_policies, policies, baseline, pass);
  if (!options.skip_bad_rows) require_no_bad_rows(result.audit);
  if (result.audit.bad_rows() > 0 && result.sums && !policies.empty()) {
    // The mixture's shares are those of the rows that are left, and they are known only now.
    const TermSums& sums = static_cast<const MisReduction::Sums&>(*result.sums).terms.front();
    for (std::size_t t = 0; t < counts.size(); ++t) counts[t] = sums.per_rollout[t].count;
    result = run_mis_pass(source, counts, logging_policies, policies, baseline, pass);
  }
  for (std::size_t p = 0; p < policies.size() && result.sums; ++p) {
    const auto& sums = static_cast<const MisReduction::Sums&>(*result.sums);
    PolicyReport& policy = report.policies[p];
    for (int weighting = 0; weighting < kWeightings; ++weighting) {
      const std::size_t unit = p * kWeightings + static_cast<std::size_t>(weighting);
      const char* name = kWeightingNames[weighting];
      policy.estimates.push_back(pooled_estimate(sums.terms[unit], name, name, options, policy.diagnostics.warnings));
      const bool normal = options.interval == IntervalKind::automatic || options.interval == IntervalKind::normal;
      const bool simple = options.interval == IntervalKind::student || options.interval == IntervalKind::bernstein;
      if (!normal && !simple && policy.estimates.back().standard_error) {
        policy.diagnostics.warnings.push_back(
            fmt::format("{}: its interval is normal, the others are {}", name, definition_of(options.interval).name));
      }
      if (report.clusters && policy.estimates.back().standard_error) {
        policy.diagnostics.warnings.push_back(
            fmt::format("{}: its standard error takes rows as independent, though they come in clusters", name));
      }
      if (!policy.difference) continue;
      policy.difference->estimates.push_back(
          pooled_estimate(sums.differences[unit], name, fmt::format("{} minus {}", name, policy.difference->baseline),
                          options, policy.diagnostics.warnings));
    }
  }
}

}  // namespace scrm
