// labels: fast isa
#include "scrm/kernels/vector/isa.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <random>
#include <string>
#include <vector>

#include "scrm/kernels/scores/densities.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/weights/weight_sums.hpp"
#include "scrm/kernels/weights/weights.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const char* name : available_isas()) out.emplace_back(name);
  return out;
}

/// A block with everything the kernels read, the same whatever instruction set is active.
struct Sample {
  static constexpr int kFeatures = 7, kLabels = 5, kRows = 1999;
  Columns<double> context{kFeatures}, action, loss, propensity, label_propensity{kLabels};
  Columns<std::uint8_t> bits{kLabels};
  std::vector<double> theta;
  Block block;

  Sample() {
    std::mt19937_64 random(41);
    for (int i = 0; i < kFeatures * kBlockRows; ++i) context[i] = normal(random);
    for (int i = 0; i < kLabels * kBlockRows; ++i) {
      bits[i] = static_cast<std::uint8_t>(random() & 1);
      label_propensity[i] = uniform(random, 0.1, 1);
    }
    for (int i = 0; i < kBlockRows; ++i) {
      action[i] = normal(random);
      loss[i] = normal(random);
      propensity[i] = uniform(random, 0.05, 1);
    }
    for (int j = 0; j <= mapped_features(FeatureMap::quadratic, kFeatures); ++j) theta.push_back(0.2 * normal(random));
    block.rows = kRows;
    block.features = kFeatures;
    block.context = context.data();
    block.action = action.data();
    block.bits = bits.data();
    block.num_actions = kLabels;
    block.loss = loss.data();
    block.propensity = propensity.data();
    block.label_propensity = label_propensity.data();
  }
};

void append(std::vector<double>& out, const double* values, int count) {
  out.insert(out.end(), values, values + count);
}

void append(std::vector<double>& out, const Moments& m) {
  out.insert(out.end(), {m.true_mean(), m.standard_deviation(), m.range()});
}

/// What a whole chain of kernels makes of the sample, on the active instruction set.
std::vector<double> run_kernels(const Sample& sample) {
  const Block& block = sample.block;
  std::vector<double> out;
  Columns<double> scores(Sample::kLabels), density, weights, labels(Sample::kLabels);
  block_scores(block, FeatureMap::quadratic, sample.theta.data(), scores.data());
  append(out, scores.data(), Sample::kRows);
  for (int k = 1; k < Sample::kLabels; ++k) {
    block_scores(block, FeatureMap::linear, sample.theta.data() + k, scores.data() + k * kBlockRows);
  }
  gaussian_log_density(block.action, scores.data(), 0.8, density.data());
  append(out, density.data(), Sample::kRows);
  weights_from_log_density(block, density.data(), weights.data());
  append(out, weights.data(), Sample::kRows);
  multilabel_log_probability(block.bits, scores.data(), Sample::kLabels, 0.1, Mixing::label, density.data());
  append(out, density.data(), Sample::kRows);
  multilabel_label_probability(block.bits, scores.data(), Sample::kLabels, 0.1, labels.data());
  label_weight_excess(block, labels.data(), 0.01, density.data());
  append(out, density.data(), Sample::kRows);
  const PairMoments pair = additive_sums(block, density.data(), 0.3).pair;
  out.insert(out.end(), {pair.mean_a, pair.mean_b, pair.aa, pair.bb, pair.ab});
  WeightSums sums;
  compute_weight_sums(block, weights.data(), {0.01, 2.0}, sums);
  for (const Moments& m : {sums.weight, sums.ips, sums.clipped, sums.ix, column_moments(block.loss, block.rows)})
    append(out, m);
  out.insert(out.end(), {sums.square.weight, sums.square.mean, sums.square.square_sum});
  return out;
}

}  // namespace

TEST_CASE("isa: a forced instruction set is the one that runs, by either case of its name") {
  const std::vector<std::string> all = names();
  REQUIRE(!all.empty());
  for (std::string name : all) {
    CHECK(force_isa(name));
    CHECK(active_isa() == name);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    CHECK(force_isa(name));
  }
  CHECK(force_isa(""));
  CHECK(active_isa() == all.front());
}

TEST_CASE("isa: an unknown name changes nothing") {
  const std::string last = names().back();
  REQUIRE(force_isa(last));
  CHECK_FALSE(force_isa("AVX9000"));
  CHECK(active_isa() == last);
  force_isa("");
}

TEST_CASE("isa: what is available does not depend on what is forced") {
  const std::vector<std::string> all = names();
  for (const std::string& name : all) {
    force_isa(name);
    CHECK(names() == all);
  }
  force_isa("");
}

TEST_CASE("isa: every instruction set agrees with the best one to 1e-13, through a whole chain of kernels") {
  const Sample sample;
  force_isa("");
  const std::vector<double> best = run_kernels(sample);
  every_isa([&] {
    const std::vector<double> other = run_kernels(sample);
    REQUIRE(other.size() == best.size());
    Worst worst;
    for (std::size_t i = 0; i < best.size(); ++i) {
      // Scores and log-densities are sums of terms near one: below one they are compared on that scale.
      worst.add(static_cast<std::int64_t>(i), relative_error(other[i], best[i], std::max(1.0, std::abs(best[i]))));
    }
    CAPTURE(worst.place);
    CHECK(worst.error <= 1e-13);
  });
}
