// labels: fast isa
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "scrm/kernels/scores/densities.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/weights/gaussian_weights.hpp"
#include "scrm/kernels/weights/group_sums.hpp"
#include "scrm/kernels/weights/logged_difference.hpp"
#include "scrm/kernels/weights/weight_sums.hpp"
#include "scrm/kernels/weights/weights.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"
#include "support/rows/gaussian_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// The block with its lists in memory that begins an odd number of doubles behind every vector's.
class MovedLists {
 public:
  explicit MovedLists(const Block& from) : block(from), memory_(4) {
    block.action = moved(from.action, 0);
    block.loss = moved(from.loss, 1);
    if (from.propensity != nullptr) block.propensity = moved(from.propensity, 2);
    if (from.log_propensity != nullptr) block.log_propensity = moved(from.log_propensity, 2);
  }

  Block block;

 private:
  const double* moved(const double* list, int place) {
    double* to = memory_.data() + place * (kBlockRows + 8) + 2 * place + 1;
    std::copy_n(list, kBlockRows, to);
    return to;
  }

  Columns<double> memory_;
};

template <class Compute>
void same_bits(const Block& block, Compute compute) {
  const MovedLists moved(block);
  Columns<double> here(1), there(1);
  compute(block, here.data());
  compute(moved.block, there.data());
  CHECK(std::memcmp(here.data(), there.data(), kBlockRows * sizeof(double)) == 0);
}

}  // namespace

TEST_CASE("lists in place: weights and densities are those of aligned columns, to the bit") {
  every_isa([] {
    for (const bool logarithm : {false, true}) {
      for (const bool outliers : {false, true}) {
        CAPTURE(logarithm);
        CAPTURE(outliers);
        const GaussianRows rows(3, {.logarithm = logarithm, .outliers = outliers});
        const std::vector<double> theta = random_theta(3, 1);
        const LinearGaussian policy{theta.data(), 0.7};
        same_bits(rows.block, [&](const Block& block, double* out) { gaussian_weights(block, &policy, 1, out); });
        for (const bool lognormal : {false, true}) {
          same_bits(rows.block, [&](const Block& block, double* out) {
            block_scores(block, FeatureMap::linear, theta.data(), out);
            (lognormal ? lognormal_log_density : gaussian_log_density)(block.action, out, 0.7, out);
            weights_from_log_density(block, out, out);
          });
        }
        // Some list in the place of an outside policy's probabilities.
        same_bits(rows.block, [&](const Block& block, double* out) {
          weights_from_density(block, block.propensity != nullptr ? block.propensity : block.loss, out);
        });
      }
    }
  });
}

TEST_CASE("lists in place: sums over losses are those of aligned columns, to the bit") {
  every_isa([] {
    const GaussianRows rows(3);
    const MovedLists moved(rows.block);
    const std::vector<double> theta = random_theta(3, 1);
    const LinearGaussian policy{theta.data(), 0.7};
    Columns<double> weights(1);
    gaussian_weights(rows.block, &policy, 1, weights.data());
    for (const WeightOptions& rules : {WeightOptions{.alpha = 0.1, .ranges = false}, WeightOptions{.clip = 3}}) {
      WeightSums here, there;
      Columns<double> copy(1);
      std::copy_n(weights.data(), kBlockRows, copy.data());
      compute_weight_sums(rows.block, copy.data(), rules, here);
      std::copy_n(weights.data(), kBlockRows, copy.data());
      compute_weight_sums(moved.block, copy.data(), rules, there);
      CHECK(here.ips.mean == there.ips.mean);
      CHECK(here.ips.square_sum == there.ips.square_sum);
      CHECK(here.ix.square_sum == there.ix.square_sum);
      CHECK(here.square.square_sum == there.square.square_sum);
      CHECK(here.clipped.square_sum == there.clipped.square_sum);
      DifferenceSums joint, moved_joint;
      std::copy_n(weights.data(), kBlockRows, copy.data());
      compute_logged_difference(rows.block, copy.data(), rules, here, joint);
      std::copy_n(weights.data(), kBlockRows, copy.data());
      compute_logged_difference(moved.block, copy.data(), rules, there, moved_joint);
      CHECK(joint.ips.square_sum == moved_joint.ips.square_sum);
      CHECK(joint.product.second == moved_joint.product.second);
    }
    std::vector<double> groups(5 * 64), moved_groups(5 * 64);
    const auto add_groups = [&](const Block& block, std::vector<double>& sums) {
      const RowsOfGroups rows_of = {.rows = kBlockRows, .group_rows = 32, .sums = sums.data(), .width = 5};
      add_weight_groups(rows_of, {.weight = 0, .ips = 1, .clipped = 2, .ix = 3}, weights.data(), block.loss, 0.1, 3);
      add_column_groups(rows_of, 4, block.loss);
    };
    add_groups(rows.block, groups);
    add_groups(moved.block, moved_groups);
    CHECK(groups == moved_groups);
    const AdditiveSums additive = additive_sums(rows.block, weights.data(), 0.5);
    const AdditiveSums moved_additive = additive_sums(moved.block, weights.data(), 0.5);
    CHECK(additive.pair.mean_a == moved_additive.pair.mean_a);
    CHECK(additive.pair.mean_b == moved_additive.pair.mean_b);
    CHECK(column_moments(rows.block.loss, kBlockRows).square_sum ==
          column_moments(moved.block.loss, kBlockRows).square_sum);
  });
}
