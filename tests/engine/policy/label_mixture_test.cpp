// labels: fast
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "scrm/engine/pass/balance_heuristic_source.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr int kLabels = 3;

Schema bits_schema() {
  Schema schema;
  schema.action_kind = ActionKind::multilabel;
  schema.num_actions = kLabels;
  schema.features = 2;
  schema.propensity = PropensityForm::logarithm;
  schema.label_propensity = true;
  return schema;
}

using Probabilities = std::array<double, kLabels>;

/// What label by label estimates over an infinite log of two policies come to, for the share of wrong bits where all
/// right ones are set. `centred`: each policy's losses are measured from their own mean.
double balanced_limit(const Probabilities& target, const std::array<Probabilities, 2>& logging, bool centred) {
  double limit = 0, mean = 0;
  std::array<double, 2> means{};
  for (std::size_t t = 0; t < 2; ++t) {
    for (const double p : logging[t]) means[t] += (1 - p) / kLabels;
    mean += means[t] / 2;
  }
  for (std::size_t t = 0; t < 2; ++t) {
    for (unsigned action = 0; action < 1U << kLabels; ++action) {
      double probability = 0.5, excess = 0, loss = 0;
      for (std::size_t k = 0; k < kLabels; ++k) {
        const bool set = (action >> k & 1) != 0;
        const auto of = [&](double p) { return set ? p : 1 - p; };
        probability *= of(logging[t][k]);
        excess += of(target[k]) / ((of(logging[0][k]) + of(logging[1][k])) / 2) - 1;
        loss += set ? 0 : 1.0 / kLabels;
      }
      limit += probability * (loss + (loss - (centred ? means[t] : mean)) * excess);
    }
  }
  return limit;
}

}  // namespace

TEST_CASE("label mixture: each label's propensity becomes that of all deployments together") {
  const LoggedRows rows = random_rows(bits_schema(), 100, 3);
  MemorySource source = make_source(rows);
  const std::array<Policy, 2> logging = {
      random_policy(PolicyKind::multilabel, rows.schema, 5, FeatureMap::linear, 0.1, Mixing::label),
      random_policy(PolicyKind::multilabel, rows.schema, 7)};
  std::vector<std::shared_ptr<const TargetPolicy>> policies;
  for (const Policy& one : logging) policies.push_back(make_target_policy(one, rows.schema, "logging"));
  BalanceHeuristicSource mixed(source, policies, {0.25, 0.75});
  const std::unique_ptr<BlockLoader> loader = mixed.make_loader();
  const std::unique_ptr<BlockGroup> group = mixed.fetch(0, 1);
  Audit audit;
  const Block block = mixed.load(*group, 0, *loader, audit);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const std::vector<bool> bits = row_bits(rows, i);
    const reference::Reals first = row_scores(logging[0], rows, i), second = row_scores(logging[1], rows, i);
    for (std::size_t k = 0; k < kLabels; ++k) {
      const auto expected =
          static_cast<double>(0.25L * reference::label_probability(bits[k], first[k], logging[0].epsilon) +
                              0.75L * reference::label_probability(bits[k], second[k], logging[1].epsilon));
      CHECK(block.label_propensity[static_cast<std::int64_t>(k) * kBlockRows + i] ==
            doctest::Approx(expected).epsilon(1e-12));
    }
  }
}

TEST_CASE("label mixture: estimates are biased by how far apart the policies are, with centred batches half as much") {
  const Probabilities target = {0.95, 0.9, 0.95};
  double truth = 0;
  for (const double p : target) truth += (1 - p) / kLabels;
  const auto bias = [&](const std::array<Probabilities, 2>& logging, bool centred) {
    return balanced_limit(target, logging, centred) - truth;
  };
  // A first policy that is nearly deterministic and mostly wrong, and one that has learned: far from small.
  const Probabilities wrong = {0.1, 0.2, 0.1}, learned = {0.9, 0.8, 0.95};
  CHECK(bias({wrong, learned}, false) == doctest::Approx(-0.475).epsilon(1e-3));
  CHECK(bias({wrong, learned}, true) == doctest::Approx(0.247).epsilon(1e-2));
  // Two that have learned about the same, and one policy twice, which is no mixture.
  CHECK(std::abs(bias({Probabilities{0.85, 0.8, 0.9}, learned}, true)) < 2e-3);
  CHECK(bias({learned, learned}, true) == doctest::Approx(0).epsilon(1e-12));
}
