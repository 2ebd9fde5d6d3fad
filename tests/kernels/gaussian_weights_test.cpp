// labels: fast isa
#include "scrm/kernels/weights/gaussian_weights.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "scrm/kernels/scores/densities.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/vector/elementary.hpp"
#include "scrm/kernels/weights/weights.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"
#include "support/rows/gaussian_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

void separate_steps(const Block& block, const LinearGaussian& policy, double* out) {
  block_scores(block, FeatureMap::linear, policy.theta, out);
  gaussian_log_density(block.action, out, policy.scale, out);
  weights_from_log_density(block, out, out);
}

}  // namespace

TEST_CASE("gaussian_weights: the bits of scores, densities and weights computed one after the other") {
  every_isa([] {
    for (const std::int64_t features : {1, 5, 10, 33, 40}) {
      for (const int form : {0, 1, 2, 3}) {
        for (const bool outliers : {false, true}) {
          const GaussianRows rows(features,
                                  {.float32 = form % 2 == 1, .logarithm = form / 2 == 1, .outliers = outliers});
          constexpr int kPolicies = 7;  // a whole group and a rest
          std::vector<std::vector<double>> thetas;
          std::vector<LinearGaussian> policies;
          for (unsigned p = 0; p < kPolicies; ++p) thetas.push_back(random_theta(features, p));
          for (unsigned p = 0; p < kPolicies; ++p) policies.push_back({thetas[p].data(), 0.4 + 0.2 * p});
          Columns<double> together(kPolicies), apart;
          gaussian_weights(rows.block, policies.data(), kPolicies, together.data());
          for (int p = 0; p < kPolicies; ++p) {
            separate_steps(rows.block, policies[static_cast<std::size_t>(p)], apart.data());
            CAPTURE(features);
            CAPTURE(form);
            CAPTURE(outliers);
            CAPTURE(p);
            CHECK(std::memcmp(together.data() + p * kBlockRows, apart.data(), kBlockRows * sizeof(double)) == 0);
          }
        }
      }
    }
  });
}

TEST_CASE("gaussian_weights: contexts row by row, at any address, give the bits of contexts in columns") {
  every_isa([] {
    for (const std::int64_t features : {1, 2, 3, 10, 32, 33, 65, 300}) {
      for (const bool float32 : {false, true}) {
        GaussianRows rows(features, {.float32 = float32});
        const std::size_t size = float32 ? sizeof(float) : sizeof(double);
        std::vector<std::byte> by_row(static_cast<std::size_t>(kBlockRows * features) * size + 1);
        for (int i = 0; i < kBlockRows; ++i) {
          for (std::int64_t j = 0; j < features; ++j) {
            const std::int64_t cell = j * kBlockRows + i;
            const void* from = float32 ? static_cast<const void*>(&rows.narrow[cell]) : &rows.context[cell];
            std::memcpy(by_row.data() + 1 + static_cast<std::size_t>(i * features + j) * size, from, size);
          }
        }
        constexpr int kPolicies = 5;
        std::vector<std::vector<double>> thetas;
        std::vector<LinearGaussian> policies;
        for (unsigned p = 0; p < kPolicies; ++p) thetas.push_back(random_theta(features, p));
        for (unsigned p = 0; p < kPolicies; ++p) policies.push_back({thetas[p].data(), 0.4 + 0.2 * p});
        Columns<double> columns(kPolicies), rows_out(kPolicies);
        gaussian_weights(rows.block, policies.data(), kPolicies, columns.data());
        rows.block.context = nullptr;
        rows.block.context_by_row = by_row.data() + 1;
        gaussian_weights(rows.block, policies.data(), kPolicies, rows_out.data());
        CAPTURE(features);
        CAPTURE(float32);
        CHECK(std::memcmp(columns.data(), rows_out.data(), kPolicies * kBlockRows * sizeof(double)) == 0);
      }
    }
  });
}

TEST_CASE("gaussian_weights: a policy that logged its own exponentials gets weights of exactly one") {
  every_isa([] {
    GaussianRows rows(10);
    const std::vector<double> theta = random_theta(10, 1);
    const LinearGaussian policy{theta.data(), 0.7};
    block_scores(rows.block, FeatureMap::linear, theta.data(), rows.propensity.data());
    gaussian_log_density(rows.block.action, rows.propensity.data(), policy.scale, rows.propensity.data());
    exp_array(rows.propensity.data(), rows.propensity.data(), kBlockRows);
    Columns<double> out;
    gaussian_weights(rows.block, &policy, 1, out.data());
    int others = 0;
    for (int i = 0; i < kBlockRows; ++i) others += out[i] != 1.0;
    CHECK(others == 0);
  });
}
