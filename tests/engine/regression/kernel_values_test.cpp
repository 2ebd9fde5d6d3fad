// labels: fast
#include "regression/kernel_ridge/kernel_values.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "support/reference/kernel_reference.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

std::vector<StateKernel> kernels_of(std::int64_t features) {
  std::vector<StateKernel> out = {{.kind = KernelKind::linear, .features = features},
                                  {.kind = KernelKind::gaussian, .features = features, .length = 1.5},
                                  {.kind = KernelKind::bits, .features = features, .actions = 1},
                                  {.kind = KernelKind::bits, .features = features, .actions = 6}};
  for (const int degree : {1, 2, 3, 5})
    out.push_back({.kind = KernelKind::polynomial, .features = features, .degree = degree});
  return out;
}

Eigen::Map<const Eigen::MatrixXd> columns(const StateKernel& kernel, const RidgeRows& rows) {
  return {rows.states.data(), kernel.state_size(), std::ssize(rows.y)};
}

}  // namespace

TEST_CASE("kernel blocks: are the kernel's values, into any leading dimension, and the diagonal is theirs") {
  for (const std::int64_t features : {0, 1, 3, 40}) {
    for (const StateKernel& kernel : kernels_of(features)) {
      for (const auto& [na, nb] : {std::pair{5, 7}, {1, 1}, {0, 3}, {4, 0}, {33, 2}}) {
        const RidgeRows a = ridge_rows(kernel, na, 1), b = ridge_rows(kernel, nb, 2);
        const LongMatrix truth = kernel_matrix(kernel, a.states, b.states);
        const std::int64_t leading = na + 3;
        std::vector<double> out(static_cast<std::size_t>(leading * nb), -7.0);
        kernel_values(kernel, columns(kernel, a), columns(kernel, b),
                      Eigen::Map<Eigen::MatrixXd>(out.data(), leading, nb).topRows(na));
        const Eigen::VectorXd diagonal = kernel_diagonal(kernel, columns(kernel, a));
        for (int j = 0; j < nb; ++j) {
          for (int i = 0; i < na; ++i)
            CHECK(out[static_cast<std::size_t>(i + j * leading)] ==
                  doctest::Approx(static_cast<double>(truth(static_cast<std::size_t>(i), static_cast<std::size_t>(j))))
                      .epsilon(1e-12)
                      .scale(1));
          CHECK(out[static_cast<std::size_t>(na + j * leading)] == -7.0);
        }
        for (int i = 0; i < na; ++i) {
          const double* s = a.states.data() + i * kernel.state_size();
          CHECK(diagonal[i] == doctest::Approx(static_cast<double>(kernel_value(kernel, s, s))).epsilon(1e-13));
        }
      }
    }
  }
}

TEST_CASE("kernel blocks: gaussian values keep their digits far from zero") {
  const StateKernel kernel{.kind = KernelKind::gaussian, .features = 2, .length = 0.1};
  RidgeRows a = ridge_rows(kernel, 6, 3);
  for (double& s : a.states) s = 1e6 + 0.1 * s;
  const LongMatrix truth = kernel_matrix(kernel, a.states, a.states);
  std::vector<double> out(36);
  kernel_values(kernel, columns(kernel, a), columns(kernel, a), Eigen::Map<Eigen::MatrixXd>(out.data(), 6, 6));
  for (int j = 0; j < 6; ++j) {
    for (int i = 0; i < 6; ++i)
      CHECK(out[static_cast<std::size_t>(i + 6 * j)] ==
            doctest::Approx(static_cast<double>(truth(static_cast<std::size_t>(i), static_cast<std::size_t>(j))))
                .epsilon(1e-12));
  }
}

TEST_CASE("feature maps: products of features are the kernel's values") {
  for (const std::int64_t features : {0, 1, 3, 12}) {
    for (const StateKernel& kernel : kernels_of(features)) {
      if (kernel.kind == KernelKind::gaussian) continue;
      const FiniteFeatures map(kernel);
      CHECK(map.dimension() == feature_dimension(kernel).value());
      const auto d = static_cast<std::size_t>(map.dimension());
      const RidgeRows rows = ridge_rows(kernel, 4, 5);
      std::vector<double> phi(4 * d);
      map.fill(columns(kernel, rows), Eigen::Map<Eigen::MatrixXd>(phi.data(), map.dimension(), 4));
      const LongMatrix truth = kernel_matrix(kernel, rows.states, rows.states);
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
          double product = 0;
          for (std::size_t m = 0; m < d; ++m) product += phi[i * d + m] * phi[j * d + m];
          const auto value = static_cast<double>(truth(i, j));
          CHECK(product == doctest::Approx(value).epsilon(1e-11).scale(1));
        }
      }
    }
  }
}

TEST_CASE("feature dimensions: those of the experiments, and no overflow") {
  const auto of = [](KernelKind kind, std::int64_t features, std::int64_t actions = 1, int degree = 2) {
    return feature_dimension({.kind = kind, .features = features, .actions = actions, .degree = degree});
  };
  CHECK(of(KernelKind::linear, 10) == 12);
  CHECK(of(KernelKind::polynomial, 10) == 78);
  CHECK(of(KernelKind::polynomial, 294) == 43956);
  CHECK(of(KernelKind::bits, 294, 6) == 295 * 7);
  CHECK(of(KernelKind::polynomial, 2000, 1, 30) == std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(of(KernelKind::gaussian, 10).has_value());
}

TEST_CASE("kernels that cannot be are refused by name") {
  CHECK_THROWS_WITH_AS(check({.kind = KernelKind::polynomial, .degree = 0}), doctest::Contains("degree is 0"), Error);
  CHECK_THROWS_WITH_AS(check({.kind = KernelKind::gaussian, .length = -1}), doctest::Contains("length is -1"), Error);
  CHECK_THROWS_WITH_AS(check({.kind = KernelKind::linear, .features = 3, .actions = 0}),
                       doctest::Contains("an action has at least one"), Error);
  CHECK_THROWS_WITH_AS(FiniteFeatures({.kind = KernelKind::gaussian}),
                       doctest::Contains("the gaussian kernel has no finite feature map"), Error);
  CHECK_THROWS_WITH_AS(FiniteFeatures({.kind = KernelKind::polynomial, .features = 2000, .degree = 9}),
                       doctest::Contains("is too long: use inducing points"), Error);
}
