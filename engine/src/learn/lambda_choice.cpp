#include "learn/lambda_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "learn/model/learning_model.hpp"
#include "learn/model/model_start.hpp"
#include "learn/search/searches.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/pass/row_split.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

constexpr int kSplits = 3;
constexpr double kTrainShare = 0.75;
// In standard deviations of the losses.
constexpr std::array kRidgeShares = {0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2};

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

/// The splits and their models, made once for all that is scored by them.
class HeldOutScorer {
 public:
  /// `most` are the λ that are scored with one ridge, `candidates` all that will be scored.
  HeldOutScorer(Source& source, const ObjectiveProblem& problem, const LearnOptions& options, const PassOptions& pass,
                std::size_t most, std::size_t candidates)
      : source_(source),
        problem_(problem),
        options_(options),
        together_(lambdas_together(problem, most, pass.memory)),
        candidates_(static_cast<double>(candidates)),
        pass_(beside_searches(source, problem.policy, (together_ + 1) * kSplits, 2 * kSplits + 3, pass)),
        splits_(split(source, options, pass_)),
        models_(models_of(source, splits_, options, pass_)) {}

  /// What was found on each split with the λ and the ridge that have the least risk so far.
  std::vector<Policy> take_best() { return std::move(best_); }

  std::vector<LambdaScore> score(std::span<const double> lambdas, double l2) {
    problem_.rules.l2 = options_.rules.l2 = l2;
    std::vector<LambdaScore> scores;
    for (std::size_t first = 0; first < lambdas.size(); first += together_)
      score_together(lambdas.subspan(first, std::min(together_, lambdas.size() - first)), scores);
    return scores;
  }

 private:
  const LearningModel* model_of(std::size_t split) const { return models_.empty() ? nullptr : &models_[split]; }

  void score_together(std::span<const double> lambdas, std::vector<LambdaScore>& scores) {
    LearnOptions part = options_;
    if (options_.on_share) {
      part.on_share = [&, this](double share) {
        options_.on_share((done_ + share * static_cast<double>(lambdas.size())) / candidates_);
      };
    }
    std::vector<Search> searches;
    for (const double lambda : lambdas) {
      for (std::size_t s = 0; s < splits_.train.size(); ++s) {
        ObjectiveProblem one = problem_;
        one.rules.lambda = lambda;
        one.rows = &splits_.train[s];
        one.model = model_of(s);
        if (problem_.model != nullptr) one.policy = best_start(source_, one, pass_, options_.skip_bad_rows);
        searches.push_back({.start = std::move(one)});
      }
    }
    run_searches(source_, searches, part, pass_);
    std::vector<ObjectiveProblem> held_out;
    for (std::size_t i = 0; i < searches.size(); ++i) {
      require_objective(searches[i].result);
      ObjectiveProblem one = problem_;
      one.policy = std::move(searches[i].result.policy);
      one.rules.estimator = &judge_of(options_, source_.schema());
      one.rules.lambda = 0;
      one.rules.l2 = 0;
      one.rows = &splits_.test[i % splits_.test.size()];
      one.model = model_of(i % splits_.test.size());
      held_out.push_back(std::move(one));
    }
    searches.clear();
    const std::vector<ObjectiveValue> values = evaluate_objectives(source_, held_out, pass_, options_.skip_bad_rows);
    for (std::size_t l = 0; l < lambdas.size(); ++l) {
      double sum = 0;
      for (std::size_t s = 0; s < splits_.test.size(); ++s) sum += values[l * splits_.test.size() + s].risk;
      scores.push_back({lambdas[l], sum / static_cast<double>(splits_.test.size()), problem_.rules.l2});
      if (!(scores.back().risk < least_risk_)) continue;
      least_risk_ = scores.back().risk;
      best_.clear();
      for (std::size_t s = 0; s < splits_.test.size(); ++s)
        best_.push_back(held_out[l * splits_.test.size() + s].policy);
    }
    done_ += static_cast<double>(lambdas.size());
  }

  Source& source_;
  ObjectiveProblem problem_;
  LearnOptions options_;
  std::size_t together_;
  double candidates_, done_ = 0, least_risk_ = std::numeric_limits<double>::infinity();
  std::vector<Policy> best_;
  PassOptions pass_;
  Splits splits_;
  std::vector<LearningModel> models_;
};

/// The first of the least.
const LambdaScore& best_of(const std::vector<LambdaScore>& scores) {
  return *std::min_element(scores.begin(), scores.end(),
                           [](const LambdaScore& a, const LambdaScore& b) { return a.risk < b.risk; });
}

/// What l2 is chosen from, the least first: the start of a search hardly depends on it, and λ is chosen with it.
std::vector<double> ridges_of(const LearnOptions& options, const Moments& loss) {
  if (!options.choose_l2) return {options.rules.l2};
  std::vector<double> out = options.l2_candidates;
  if (out.empty()) {
    for (const double share : kRidgeShares) out.push_back(share * loss.standard_deviation());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::shared_ptr<const OutcomeModel> fit_model(Source& source, const RowMask* rows, const LearnOptions& options,
                                              const PassOptions& pass) {
  const LearningRule& rule = *options.rules.estimator->learning;
  const bool residuals = rule.form != RiskForm::model || rule.correction != Correction::none;
  return fit_ridge_model(source,
                         {.skip_bad_rows = options.skip_bad_rows,
                          .rows = rows,
                          .cross_fitted = residuals,
                          .memory_help = "fewer features, or an estimator without a model, such as snips"},
                         pass);
}

std::vector<PenaltyPair> choose_penalties(Source& source, const ObjectiveProblem& problem, const LearnOptions& options,
                                          const PassOptions& pass, LearnReport& report) {
  std::vector<double> lambdas = options.lambdas;
  std::vector<double> ridges = ridges_of(options, report.loss);
  bool choose_lambda = options.lambda_rule == LambdaRule::automatic;
  if (options.lambda_rule == LambdaRule::theory) {
    const std::size_t parameters = problem.policy.theta.size() + (options.min_scale ? 1 : 0);
    lambdas = {theory_lambda(static_cast<double>(parameters), report.loss.count)};
  }
  if (report.loss.lowest == report.loss.highest) {  // every candidate is as good as another
    if (choose_lambda) lambdas.resize(1);
    ridges.resize(1);
    choose_lambda = false;
  }
  std::vector<PenaltyPair> out;
  if (choose_lambda || ridges.size() > 1) {
    const std::size_t most = lambdas.size(), used = choose_lambda ? 1 : most;
    const std::size_t candidates = choose_lambda ? most + ridges.size() - 1 : most * ridges.size();
    HeldOutScorer scorer(source, problem, options, pass, most, candidates);
    std::vector<std::vector<LambdaScore>> of_lambdas(used);
    if (choose_lambda) {
      report.scores = scorer.score(lambdas, ridges.front());
      of_lambdas.front().push_back(best_of(report.scores));
      lambdas = {of_lambdas.front().front().lambda};
    }
    for (std::size_t r = choose_lambda ? 1 : 0; r < ridges.size(); ++r) {
      const std::vector<LambdaScore> scores = scorer.score(lambdas, ridges[r]);
      for (std::size_t l = 0; l < used; ++l) of_lambdas[l].push_back(scores[l]);
    }
    for (const std::vector<LambdaScore>& scores : of_lambdas) {
      out.push_back({.lambda = scores.front().lambda, .l2 = best_of(scores).l2});
      if (options.choose_l2) report.l2_scores.insert(report.l2_scores.end(), scores.begin(), scores.end());
    }
    if (choose_lambda) out.front().on_parts = scorer.take_best();
    return out;
  }
  for (const double lambda : lambdas) out.push_back({.lambda = lambda, .l2 = ridges.front()});
  return out;
}

}  // namespace scrm
