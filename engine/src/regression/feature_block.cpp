#include "regression/feature_block.hpp"

#include <algorithm>
#include <cmath>

#include "regression/kernel_solver.hpp"
#include "regression/normal_equations.hpp"

namespace scrm {
namespace {

// Features so few that no points are worth their while.
constexpr std::int64_t kFewFeatures = 512;

double binomial(int n, int k) {
  double value = 1;
  for (int i = 1; i <= k; ++i) value = value * (n - k + i) / i;
  return std::round(value);
}

/// What may become points: contexts for polynomials, states for other kernels.
std::int64_t inputs_of(const KernelRidgeOptions& options, std::int64_t rows) {
  return options.kernel.power() > 0 ? (rows + options.replays - 1) / options.replays : rows;
}

}  // namespace

std::vector<Term> terms_of(const KernelRidgeOptions& options) {
  const StateKernel& kernel = options.kernel;
  const bool primal = options.solver == RidgeSolver::primal;
  const int p = kernel.power();
  if (p == 0) return {{.kernel = kernel, .finite = primal}};
  const std::int64_t contexts = options.expected_rows / options.replays;
  std::vector<Term> out;
  for (int j = 0; j <= p; ++j) {
    Term term{{.kind = KernelKind::polynomial, .features = kernel.state_size() - 1, .actions = 0, .degree = j},
              binomial(p, j),
              p - j};
    const std::int64_t few = options.points.value_or(std::max(contexts, kFewFeatures));
    term.finite = primal || j < 2 || feature_dimension(term.kernel).value() <= few;
    out.push_back(term);
  }
  return out;
}

std::int64_t chunk_rows(const StateKernel& kernel) {
  constexpr std::int64_t kNumbers = std::int64_t{1} << 21, kLeastRows = 1024;
  return std::max(kLeastRows, kNumbers / kernel.state_size());
}

std::int64_t feature_ridge_dimension(const KernelRidgeOptions& options, std::int64_t rows) {
  if (options.solver == RidgeSolver::primal) return feature_dimension(options.kernel).value();
  const std::int64_t points = options.points.value_or(inputs_of(options, rows));
  std::int64_t total = 0;
  for (const Term& term : terms_of(options)) {
    const std::int64_t all = feature_dimension(term.kernel).value_or(points);
    total += term.finite ? all : std::min(all, points);
  }
  return total;
}

double feature_ridge_bytes(const KernelRidgeOptions& options, std::int64_t rows) {
  double total = NormalEquations::bytes_needed(feature_ridge_dimension(options, rows), options.lambda);
  bool exact = true;
  for (const Term& term : terms_of(options)) {
    exact = exact && term.finite;
    constexpr double kBytesAFeature = 64;  // of a map, while it is made
    total += term.finite
                 ? kBytesAFeature * static_cast<double>(feature_dimension(term.kernel).value())
                 : InducingPoints::bytes_needed(term.kernel.state_size(), options.points, inputs_of(options, rows));
  }
  // Rows and inputs, which grow by halves, and what points leave of them.
  const auto per_row = static_cast<double>(2 * options.kernel.state_size() + 10 + 2 * options.kernel.power());
  const std::int64_t kept = exact ? std::min(rows, chunk_rows(options.kernel)) : rows;
  return total + static_cast<double>(kept) * per_row * sizeof(double);
}

}  // namespace scrm
