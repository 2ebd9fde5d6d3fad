/// What problems are made of: environments that draw their rows, and labelled data sets.
#pragma once

#include <memory>

#include "scrm/experiments/environment.hpp"
#include "scrm/experiments/problem.hpp"
#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

/// A score that is as good as certain: σ(36.7) rounds to 1 − 1e-16.
inline constexpr double kCertainScore = 36.0;

/// Problems whose rows are drawn by an environment.
ProblemFactory make_synthetic_factory(std::unique_ptr<Environment> (*make)(const EnvironmentOptions&));

/// Bandit problems made of supervised data. Of labels: a row is met, bits are chosen, and the share of wrong ones is
/// the loss. Of classes: one is chosen, and the loss is 1 where it is wrong.
ProblemFactory make_labelled_factory(std::shared_ptr<const LabelledData> data, const LabelledTraits& traits);

/// The same rows twice: as the first policy sees them, and with further features behind, for those who learn.
struct LabelledContexts {
  std::shared_ptr<const LabelledData> plain, mapped;
};

/// One of them, of data that is transformed already: of labels, or of classes.
std::shared_ptr<const BanditProblem> make_multilabel_problem(LabelledContexts data, ProblemShape shape,
                                                             std::uint64_t seed, const RunOptions& options,
                                                             double bonus);
std::shared_ptr<const BanditProblem> make_multiclass_problem(LabelledContexts data, ProblemShape shape,
                                                             std::uint64_t seed, const RunOptions& options);

/// Rows of labelled data that are kept apart for the test.
std::int64_t labelled_test_rows(std::int64_t rows);

}  // namespace scrm
