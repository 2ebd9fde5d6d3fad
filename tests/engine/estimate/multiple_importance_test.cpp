// labels: fast threads
#include <doctest/doctest.h>

#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "support/reference/check_report.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;
using reference::Real;
using reference::Reals;

namespace {

/// Rollouts with the propensities of their own policies, and what the reference makes of them.
struct Rollouts {
  Schema schema;
  std::vector<Policy> logging;
  std::vector<LoggedRows> rows;

  Rollouts(const std::vector<std::int64_t>& lengths, PolicyKind kind) {
    schema.features = 3;
    if (kind == PolicyKind::softmax) {
      schema.action_kind = ActionKind::categorical;
      schema.num_actions = 4;
    }
    for (std::size_t t = 0; t < lengths.size(); ++t) {
      logging.push_back(random_policy(kind, schema, 300 + t));
      rows.push_back(random_rows(schema, lengths[t], 400 + t));
      for (std::int64_t i = 0; i < lengths[t]; ++i) {
        rows[t].propensity[static_cast<std::size_t>(i)] =
            static_cast<double>(std::exp(log_density(logging[t], rows[t], i)));
      }
    }
  }

  Real total() const {
    Real n = 0;
    for (const LoggedRows& rollout : rows) n += static_cast<Real>(rollout.rows);
    return n;
  }

  /// w of one row: π / p, or π / Σ_t (n_t / n) π_t.
  Real weight(const Policy& policy, std::size_t t, std::int64_t i, bool balance) const {
    const Real density = std::exp(log_density(policy, rows[t], i));
    if (!balance) return density / std::exp(log_propensity(rows[t], i));
    Real mixture = 0;
    for (std::size_t s = 0; s < rows.size(); ++s) {
      mixture += static_cast<Real>(rows[s].rows) / total() * std::exp(log_density(logging[s], rows[t], i));
    }
    return density / mixture;
  }

  /// V = n⁻² [ Σ_t n_t s²(r^t) + 2 Σ_{p<q} n_p n_q cov(r^p, r^q) ], covariances over the first paired rows.
  /// `minus` is what is taken off every weight: one for the difference to the logged actions.
  reference::Estimated expected(const Policy& policy, bool balance, Real minus = 0) const {
    std::vector<Reals> terms(rows.size());
    reference::Estimated out;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      for (std::int64_t i = 0; i < rows[t].rows; ++i) {
        terms[t].push_back((weight(policy, t, i, balance) - minus) * rows[t].loss[static_cast<std::size_t>(i)]);
      }
      out.value += reference::sum(terms[t]) / total();
    }
    Real variance = 0, independent = 0;
    for (std::size_t p = 0; p < rows.size(); ++p) {
      const auto n_p = static_cast<Real>(terms[p].size());
      variance += n_p * reference::sample_variance(terms[p]);
      independent += n_p * reference::sample_variance(terms[p]);
      for (std::size_t q = p + 1; q < rows.size(); ++q) {
        const std::size_t pairs = std::min(terms[p].size(), terms[q].size());
        const Real covariance = reference::centred_products(terms[p], terms[q], pairs) / static_cast<Real>(pairs - 1);
        variance += 2 * n_p * static_cast<Real>(terms[q].size()) * covariance;
      }
    }
    out.standard_error = std::sqrt(variance < 0 ? independent : variance) / total();
    return out;
  }

  EvaluationReport report(const std::vector<Policy>& targets, const EvaluateOptions& options, int threads) const {
    std::vector<MemorySource> sources;
    for (const LoggedRows& rollout : rows) sources.push_back(make_source(rollout));
    std::vector<Source*> pointers;
    for (MemorySource& source : sources) pointers.push_back(&source);
    std::vector<std::shared_ptr<const TargetPolicy>> policies;
    for (const Policy& policy : logging) policies.push_back(make_target_policy(policy, schema, "logging"));
    std::vector<NamedPolicy> named;
    EvaluationReport out;
    for (const Policy& policy : targets) {
      named.push_back({"target", make_target_policy(policy, schema, "target")});
      out.policies.push_back({"target", {}, {}});
      out.policies.back().difference = Difference{.baseline = options.baseline, .estimates = {}};
    }
    PassOptions pass;
    pass.threads = threads;
    add_multiple_importance(pointers, policies, named, options, pass, out);
    return out;
  }
};

}  // namespace

TEST_CASE("multiple importance: both estimators equal the reference, with the covariance between rollouts") {
  for (const PolicyKind kind : {PolicyKind::gaussian, PolicyKind::softmax}) {
    for (const std::vector<std::int64_t>& lengths :
         std::vector<std::vector<std::int64_t>>{{2500, 700, 4099}, {4099, 7, 700}, {2048, 2048}, {50}}) {
      CAPTURE(std::string(kind.name()));
      CAPTURE(lengths.size());
      const Rollouts rollouts(lengths, kind);
      const std::vector<Policy> targets = {random_policy(kind, rollouts.schema, 1),
                                           random_policy(kind, rollouts.schema, 2)};
      EvaluateOptions options;
      options.level = 0.9;
      const EvaluationReport report = rollouts.report(targets, options, 2);
      for (std::size_t p = 0; p < targets.size(); ++p) {
        REQUIRE(report.policies[p].estimates.size() == 2);
        for (const bool balance : {false, true}) {
          const Estimate& actual = find_estimate(report.policies[p], balance ? "mis-balance" : "mis-naive");
          const reference::Estimated expected = rollouts.expected(targets[p], balance);
          const Real half = reference::normal_quantile(0.9L) * expected.standard_error;
          check_estimate(actual, expected, static_cast<double>(half), 1e-12);
          const Estimate& difference = report.policies[p].difference->estimates[balance ? 1 : 0];
          CHECK(difference.estimator == actual.estimator);
          const reference::Estimated paired = rollouts.expected(targets[p], balance, 1);
          const Real wide = reference::normal_quantile(0.9L) * paired.standard_error;
          check_estimate(difference, paired, static_cast<double>(wide), 1e-12);
        }
      }
    }
  }
}

TEST_CASE("multiple importance: one rollout is plain ips under both weightings") {
  const Rollouts rollouts({3000}, PolicyKind::gaussian);
  const Policy target = random_policy(PolicyKind::gaussian, rollouts.schema, 1);
  const EvaluationReport report = rollouts.report({target}, {}, 1);
  const reference::Estimated ips = reference::ips(policy_weights(target, rollouts.rows[0]), losses(rollouts.rows[0]));
  for (const char* name : {"mis-naive", "mis-balance"}) {
    const Estimate& estimate = find_estimate(report.policies[0], name);
    CHECK(relative_error(value_or_nan(estimate.value), ips.value) <= 1e-12);
    CHECK(relative_error(value_or_nan(estimate.standard_error), ips.standard_error) <= 1e-12);
  }
}

TEST_CASE("multiple importance: the same bits at any number of threads") {
  const Rollouts rollouts({90000, 150000, 3}, PolicyKind::gaussian);
  const std::vector<Policy> targets = {random_policy(PolicyKind::gaussian, rollouts.schema, 1)};
  const EvaluationReport one = rollouts.report(targets, {}, 1);
  for (const int threads : {2, 3, 8}) {
    const EvaluationReport many = rollouts.report(targets, {}, threads);
    for (std::size_t e = 0; e < 2; ++e) {
      CHECK(many.policies[0].estimates[e].value == one.policies[0].estimates[e].value);
      CHECK(many.policies[0].estimates[e].standard_error == one.policies[0].estimates[e].standard_error);
    }
  }
}

TEST_CASE("multiple importance: as many logging policies as rollouts are needed") {
  Rollouts rollouts({10, 10}, PolicyKind::gaussian);
  const std::vector<Policy> targets = {random_policy(PolicyKind::gaussian, rollouts.schema, 1)};
  rollouts.logging.pop_back();
  CHECK_THROWS(rollouts.report(targets, {}, 1));
}
