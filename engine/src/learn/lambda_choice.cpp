#include "learn/lambda_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "learn/model/learning_model.hpp"
#include "learn/model/model_start.hpp"
#include "learn/searches.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/pass/row_split.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

constexpr int kSplits = 3;
constexpr double kTrainShare = 0.75;

/// Both sides of every split that has rows on both.
struct Splits {
  std::vector<RowMask> train, test;
};

Splits split(Source& source, const LearnOptions& options, const PassOptions& pass) {
  std::array<std::uint32_t, kSplits> numbers;
  std::iota(numbers.begin(), numbers.end(), 0U);
  const SplitUnit unit = split_unit(source.schema());
  std::vector<RowMask> parts;
  if (options.published_splits) {
    for (const std::uint32_t number : numbers)
      parts.push_back(RowMask::random(source.rows(), kTrainShare, options.seed, number));
  } else {
    parts = split_rows(source, unit, kTrainShare, options.seed, numbers, pass);
  }
  const RowMask all = options.rows != nullptr ? *options.rows : RowMask(source.rows());
  Splits out;
  for (const RowMask& part : parts) {
    RowMask larger = all & part, smaller = all & ~part;
    // Few rows or clusters may all fall on one side, and a variance needs two.
    if (larger.count() < 2 || smaller.count() == 0) continue;
    out.train.push_back(std::move(larger));
    out.test.push_back(std::move(smaller));
  }
  if (out.train.empty()) {
    throw Error(ErrorKind::data,
                fmt::format("{} cannot be split to choose lambda; give lambda as a number",
                            unit == SplitUnit::cluster ? "rows of so few clusters" : count_of(all.count(), "row")));
  }
  return out;
}

/// Who scores held-out rows: what assumes that the model is right cannot say whether it is.
const Estimator& judge_of(const LearnOptions& options, const Schema& schema) {
  const Estimator& estimator = *options.rules.estimator;
  const bool uncorrected =
      estimator.learning->form == RiskForm::model && estimator.learning->correction == Correction::none;
  if (!uncorrected && options.judge == LambdaJudge::objective) return estimator;
  return schema.action_kind == ActionKind::multilabel && schema.label_propensity ? kAdditiveDrEstimator : kDrEstimator;
}

/// The models of all splits, each fitted to the larger part alone; none where nobody needs them.
std::vector<LearningModel> models_of(Source& source, const Splits& splits, const LearnOptions& options,
                                     PassOptions& pass) {
  std::vector<LearningModel> out;
  if (!judge_of(options, source.schema()).needs_model) return out;
  out.reserve(splits.train.size());
  MemoryLedger ledger(pass.memory);
  for (const RowMask& rows : splits.train) {
    out.emplace_back(options.model ? options.model : fit_model(source, &rows, options, pass), source, pass);
    ledger.charge(out.back().bytes(), "the model's predictions", "one --lambda instead of auto");
    pass.memory = ledger.left();
  }
  return out;
}

/// λ whose searches fit into memory at once. They are scored and let go before the next.
std::size_t lambdas_together(const ObjectiveProblem& problem, std::size_t lambdas, std::size_t memory) {
  if (memory == 0) return lambdas;
  // Half at most, so that searches under way and passes have the rest.
  const std::size_t bytes = kSplits * search_bytes(problem.policy);
  return std::clamp<std::size_t>(memory / 2 / bytes, 1, lambdas);
}

}  // namespace

std::shared_ptr<const OutcomeModel> fit_model(Source& source, const RowMask* rows, const LearnOptions& options,
                                              const PassOptions& pass) {
  const LearningRule& rule = *options.rules.estimator->learning;
  const bool residuals = rule.form != RiskForm::model || rule.correction != Correction::none;
  return fit_ridge_model(source, {.skip_bad_rows = options.skip_bad_rows, .rows = rows, .cross_fitted = residuals},
                         pass);
}

std::vector<LambdaScore> score_lambdas(Source& source, const ObjectiveProblem& problem, const LearnOptions& options,
                                       const PassOptions& pass) {
  const std::size_t together = lambdas_together(problem, options.lambdas.size(), pass.memory);
  PassOptions inner = beside_searches(source, problem.policy, together * kSplits, 2 * kSplits + 3, pass);
  const Splits splits = split(source, options, inner);
  const std::vector<LearningModel> models = models_of(source, splits, options, inner);
  const auto model_of = [&](std::size_t split) { return models.empty() ? nullptr : &models[split]; };
  LearnOptions part = options;
  std::vector<LambdaScore> scores;
  for (std::size_t first = 0; first < options.lambdas.size(); first += together) {
    const auto lambdas = std::span(options.lambdas).subspan(first, std::min(together, options.lambdas.size() - first));
    if (options.on_share) {
      part.on_share = [&, all = static_cast<double>(options.lambdas.size())](double share) {
        options.on_share((static_cast<double>(first) + share * static_cast<double>(lambdas.size())) / all);
      };
    }
    std::vector<Search> searches;
    for (const double lambda : lambdas) {
      for (std::size_t s = 0; s < splits.train.size(); ++s) {
        ObjectiveProblem one = problem;
        one.rules.lambda = lambda;
        one.rows = &splits.train[s];
        one.model = model_of(s);
        if (problem.model != nullptr) one.policy = best_start(source, one, inner, options.skip_bad_rows);
        searches.push_back({.start = std::move(one)});
      }
    }
    run_searches(source, searches, part, inner);
    std::vector<ObjectiveProblem> held_out;
    for (std::size_t i = 0; i < searches.size(); ++i) {
      require_objective(searches[i].result);
      ObjectiveProblem one = problem;
      one.policy = std::move(searches[i].result.policy);
      one.rules.estimator = &judge_of(options, source.schema());
      one.rules.lambda = 0;
      one.rules.l2 = 0;
      one.rows = &splits.test[i % splits.test.size()];
      one.model = model_of(i % splits.test.size());
      held_out.push_back(std::move(one));
    }
    searches.clear();
    const std::vector<ObjectiveValue> values = evaluate_objectives(source, held_out, inner, options.skip_bad_rows);
    for (std::size_t l = 0; l < lambdas.size(); ++l) {
      double sum = 0;
      for (std::size_t s = 0; s < splits.test.size(); ++s) sum += values[l * splits.test.size() + s].risk;
      scores.push_back({lambdas[l], sum / static_cast<double>(splits.test.size())});
    }
  }
  return scores;
}

}  // namespace scrm
