// labels: fast
#include "scrm/engine/kernel_state.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "scrm/io/error.hpp"
#include "support/kernel_reference.hpp"

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

}  // namespace

TEST_CASE("kernel blocks: are the kernel's values, into any leading dimension, and the diagonal is theirs") {
  for (const std::int64_t features : {0, 1, 3, 40}) {
    for (const StateKernel& kernel : kernels_of(features)) {
      for (const auto& [na, nb] : {std::pair{5, 7}, {1, 1}, {0, 3}, {4, 0}, {33, 2}}) {
        const RidgeRows a = ridge_rows(kernel, na, 1), b = ridge_rows(kernel, nb, 2);
        const LongMatrix truth = kernel_matrix(kernel, a.states, b.states);
        const std::int64_t leading = na + 3;
        std::vector<double> out(static_cast<std::size_t>(leading * nb), -7.0), diagonal(static_cast<std::size_t>(na));
        kernel_block(kernel, a.states.data(), na, b.states.data(), nb, out.data(), leading);
        kernel_diagonal(kernel, a.states.data(), na, diagonal.data());
        for (int j = 0; j < nb; ++j) {
          for (int i = 0; i < na; ++i)
            CHECK(out[static_cast<std::size_t>(i + j * leading)] ==
                  doctest::Approx(static_cast<double>(truth(static_cast<std::size_t>(i), static_cast<std::size_t>(j))))
                      .epsilon(1e-12)
                      .scale(1));
          CHECK(out[static_cast<std::size_t>(na + j * leading)] == -7.0);
        }
        for (int i = 0; i < na; ++i) {
          const double* s = a.states.data() + i * kernel.width();
          CHECK(diagonal[static_cast<std::size_t>(i)] ==
                doctest::Approx(static_cast<double>(kernel_value(kernel, s, s))).epsilon(1e-13));
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
  kernel_block(kernel, a.states.data(), 6, a.states.data(), 6, out.data(), 6);
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
      const StateFeatures map(kernel);
      CHECK(map.dimension() == feature_dimension(kernel).value());
      const auto d = static_cast<std::size_t>(map.dimension());
      const RidgeRows rows = ridge_rows(kernel, 4, 5);
      std::vector<double> phi(4 * d);
      map.fill(rows.states.data(), 4, phi.data());
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

TEST_CASE("powers of the action: features, kernel values and their diagonal are polynomials in a state's last number") {
  for (const std::int64_t features : {0, 1, 4}) {
    for (const StateKernel& kernel : kernels_of(features)) {
      const int p = kernel.power();
      if (p == 0) continue;
      const std::int64_t w = kernel.width(), last = w - 1;
      const RidgeRows a = ridge_rows(kernel, 6, 1), b = ridge_rows(kernel, 3, 2);
      std::vector<double> contexts;
      for (std::int64_t j = 0; j < 3; ++j)
        contexts.insert(contexts.end(), b.states.begin() + j * w, b.states.begin() + j * w + last);
      const StateFeatures map(kernel);
      const std::int64_t d = map.dimension();
      std::vector<double> values(static_cast<std::size_t>(6 * 3 * (p + 1))),
          diagonal(static_cast<std::size_t>(3 * (2 * p + 1))), phi(static_cast<std::size_t>(d * 3)),
          powers(static_cast<std::size_t>(d * 3 * (p + 1)));
      kernel_power_block(kernel, a.states.data(), 6, contexts.data(), 3, values.data(), 6);
      kernel_power_diagonal(kernel, contexts.data(), 3, diagonal.data());
      map.fill(b.states.data(), 3, phi.data());
      map.fill_powers(contexts.data(), 3, powers.data());
      for (std::int64_t j = 0; j < 3; ++j) {
        const double* s = b.states.data() + j * w;
        const double t = s[last];
        const auto sum = [&](const std::vector<double>& from, std::int64_t start, std::int64_t step, int terms) {
          double total = 0;
          for (int q = 0; q < terms; ++q) total += std::pow(t, q) * from[static_cast<std::size_t>(start + q * step)];
          return doctest::Approx(total).epsilon(1e-11).scale(1);
        };
        for (std::int64_t i = 0; i < 6; ++i)
          CHECK(static_cast<double>(kernel_value(kernel, a.states.data() + i * w, s)) ==
                sum(values, j * (p + 1) * 6 + i, 6, p + 1));
        CHECK(static_cast<double>(kernel_value(kernel, s, s)) == sum(diagonal, j * (2 * p + 1), 1, 2 * p + 1));
        for (std::int64_t m = 0; m < d; ++m)
          CHECK(phi[static_cast<std::size_t>(j * d + m)] == sum(powers, j * (p + 1) * d + m, d, p + 1));
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
  CHECK_THROWS_AS(check({.kind = KernelKind::linear, .features = 3, .actions = 0}), Error);
  CHECK_THROWS_AS(StateFeatures({.kind = KernelKind::gaussian}), Error);
  CHECK_THROWS_AS(StateFeatures({.kind = KernelKind::polynomial, .features = 2000, .degree = 9}), Error);
}
