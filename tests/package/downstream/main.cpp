// Sums the losses of a few thousand rows held in memory: one pass, from outside the source tree. Then a kind of policy
// and an estimator of its own.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "laplace.hpp"
#include "log_smoothing.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/pass/pass.hpp"

int main() {
  constexpr int kRows = 3 * scrm::kBlockRows + 5;
  scrm::Schema schema;
  schema.features = 1;
  scrm::MemorySource source(schema);
  for (int first = 0; first < kRows; first += scrm::kBlockRows) {
    const int rows = std::min(scrm::kBlockRows, kRows - first);
    auto buffer = std::make_unique<scrm::BlockBuffer>(schema);
    for (int i = 0; i < rows; ++i) {
      buffer->context_f64()[i] = 1;
      buffer->action()[i] = 0;
      buffer->loss()[i] = first + i;
      buffer->propensity()[i] = 0.5;
    }
    source.append(std::move(buffer), rows);
  }

  const auto compute = [](const scrm::Block& block, double& sum) {
    sum = 0;
    for (int i = 0; i < block.rows; ++i) sum += block.loss[i];
  };
  const auto merge = [](double& earlier, const double& later) { earlier += later; };
  const auto [sum, audit] = scrm::run_pass(source, 0.0, compute, merge, {});
  const double expected = 0.5 * kRows * (kRows - 1.0);
  std::printf("%d rows, losses add up to %.0f\n", kRows, sum);
  bool good = sum == expected && audit.bad_rows() == 0;
  good &= check_laplace();
  good &= log_smoothing_works();
  return good ? 0 : 1;
}
