#include "scrm/engine/estimate/ridge_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "estimate/model/conjugate_ridge.hpp"
#include "estimate/model/cross_fitted_ridge.hpp"
#include "estimate/model/ridge_equations.hpp"
#include "pass/parallel_indices.hpp"
#include "policy/score_matrix.hpp"
#include "schedule/arena.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/threads.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

/// The regressions of one fold in raw units, as a matrix of scores. `weights` are those of all equations and folds.
ScoreMatrix raw_matrix(const RidgeShape& shape, const RidgeUnits& units, const Schema& schema,
                       std::span<const RidgeSolution> solutions, int fold) {
  Policy policy;
  policy.kind = PolicyKind::softmax;  // a score for each output: what they mean is the model's matter
  policy.outputs = shape.equations * shape.outputs;
  for (const RidgeSolution& one : solutions) {
    for (int o = 0; o < shape.outputs; ++o) {
      const double* weights = one.weights.data() + fold * shape.width() + o * shape.context_width;
      double intercept = weights[0];
      const std::size_t at = policy.theta.size();
      policy.theta.resize(at + static_cast<std::size_t>(shape.context_width));
      for (std::int64_t j = 1; j < shape.context_width; ++j) {
        const RidgeUnit& unit = units.features[static_cast<std::size_t>(j - 1)];
        policy.theta[at + static_cast<std::size_t>(j)] = units.loss.scale * weights[j] / unit.scale;
        intercept -= weights[j] * (unit.centre / unit.scale);
      }
      policy.theta[at] = units.loss.scale * intercept + (o == 0 ? units.loss.centre : 0);
    }
  }
  return {policy, schema};
}

/// As many equations as can be summed up with all threads, one at least.
int equations_at_once(const Source& source, const RidgeShape& shape, const RidgeUnits& units, const Folds& folds,
                      const PassOptions& pass) {
  for (int count = shape.equations; count > 1; count = (count + 1) / 2) {
    if (fits_all_threads(source, RidgeReduction(shape, units, folds, {}, 0, count).bytes(), pass)) return count;
  }
  return 1;
}

/// The losses outside of each fold.
FoldRanges ranges_outside(const RidgeSums& sums) {
  FoldRanges ranges;
  for (std::size_t fold = 0; fold < ranges.size(); ++fold) {
    for (std::size_t other = 0; other < ranges.size(); ++other) {
      if (other != fold) ranges[fold].add(sums.folds[other].range);
    }
  }
  return ranges;
}

struct SolvedRidge {
  std::vector<RidgeSolution> solutions;
  FoldRanges ranges;
};

/// All equations, in as many passes as the memory asks for.
SolvedRidge solve_all(Source& source, const RidgeShape& shape, const RidgeUnits& units, const Folds& folds,
                      const RidgeOptions& options, const PassOptions& pass) {
  SolvedRidge out;
  std::vector<RidgeSolution>& solutions = out.solutions;
  solutions.resize(static_cast<std::size_t>(shape.equations));
  const int at_once = equations_at_once(source, shape, units, folds, pass);
  for (int first = 0; first < shape.equations; first += at_once) {
    const int count = std::min(at_once, shape.equations - first);
    const RidgeReduction reduction(shape, units, folds, options, first, count);
    const PassResult result = run_pass(source, reduction, pass);
    if (!options.skip_bad_rows) require_no_bad_rows(result.audit);
    const RidgeSums& sums = static_cast<const RidgeReduction::Sums&>(*result.sums).sums;
    out.ranges = ranges_outside(sums);
    in_arena(pass.threads, [&] {
      if (count == 1) {
        solutions[static_cast<std::size_t>(first)] = solve_ridge(shape, sums, 0, options.cross_fitted, true);
        return;
      }
      parallel_indices(count, [&](std::int64_t at) {
        solutions[static_cast<std::size_t>(first + at)] =
            solve_ridge(shape, sums, static_cast<int>(at), options.cross_fitted, false);
      });
    });
  }
  return out;
}

double median_penalty(const std::vector<RidgeSolution>& solutions) {
  std::vector<double> all;
  all.reserve(solutions.size());
  for (const RidgeSolution& one : solutions) all.push_back(one.penalty);
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

/// Rows that share contexts are worth few equations each, and sparse ones have many features: more than can be solved
/// for at once.
std::shared_ptr<const OutcomeModel> conjugate_model(Source& source, const RidgeShape& shape, const RidgeUnits& units,
                                                    const Folds& folds, const RidgeOptions& options,
                                                    const PassOptions& pass) {
  ConjugateRidge fitted = fit_conjugate_ridge(source, shape, units, folds, options, pass);
  std::vector<ScoreMatrix> matrices;
  for (std::vector<double>& theta : fitted.theta) {
    Policy policy;
    policy.kind = PolicyKind::softmax;
    policy.outputs = shape.equations * shape.outputs;
    policy.theta = std::move(theta);
    matrices.emplace_back(policy, source.schema());
  }
  return cross_fitted_ridge(shape, units, folds, std::move(matrices), fitted.penalty, true, fitted.ranges);
}

}  // namespace

std::shared_ptr<const OutcomeModel> fit_ridge_model(Source& source, const RidgeOptions& options,
                                                    const PassOptions& pass) {
  const Schema& schema = source.schema();
  if (source.rows() == 0) throw Error(ErrorKind::data, "the data has no rows: there is nothing to fit a model to");
  const RidgeShape shape(schema);
  const Folds folds(source);
  const RidgeUnits units = first_units(source);

  if (schema.replays > 1 || schema.sparse) return conjugate_model(source, shape, units, folds, options, pass);

  MemoryLedger ledger(pass.memory);
  const std::size_t weights = static_cast<std::size_t>(shape.equations) * static_cast<std::size_t>(shape.width()) *
                              Folds::kCount * sizeof(double);
  const int solvers = shape.equations > 1 ? resolve_threads(pass.threads) : 1;
  ledger.charge(2 * weights + static_cast<std::size_t>(solvers) * solve_ridge_bytes(shape),
                fmt::format("a ridge model with {} features{}", shape.width(),
                            shape.equations > 1 ? fmt::format(" for each of {} actions", shape.equations) : ""),
                options.memory_help);
  PassOptions inner = pass;
  inner.memory = ledger.left();
  const SolvedRidge solved = solve_all(source, shape, units, folds, options, inner);

  std::vector<ScoreMatrix> matrices;
  matrices.reserve(Folds::kCount);
  for (int fold = 0; fold < Folds::kCount; ++fold)
    matrices.push_back(raw_matrix(shape, units, schema, solved.solutions, fold));
  return cross_fitted_ridge(shape, units, folds, std::move(matrices), median_penalty(solved.solutions), false,
                            solved.ranges);
}

}  // namespace scrm
