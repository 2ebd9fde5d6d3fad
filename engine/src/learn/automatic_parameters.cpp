#include "learn/automatic_parameters.hpp"

#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

/// The parameter of an estimator for the start policy. Rows that are not learned from have no say.
std::optional<double> start_parameter(Source& source, const Policy& start, const char* estimator,
                                      const LearnOptions& options, const std::shared_ptr<const OutcomeModel>& model,
                                      const PassOptions& pass) {
  EvaluateOptions evaluation;
  evaluation.estimators = {estimator};
  evaluation.model = model;
  evaluation.skip_bad_rows = options.skip_bad_rows;
  const std::vector<NamedPolicy> policies = {{"start", make_target_policy(start, source.schema(), "the start policy")}};
  const RowMask all = options.rows != nullptr ? *options.rows : RowMask(source.rows());
  MaskedSource rows(source, all);
  return evaluate(rows, policies, evaluation, pass).policies.front().estimates.front().parameter;
}

}  // namespace

double automatic_clip(Source& source, const Policy& start, const LearnOptions& options, const PassOptions& pass) {
  const double clip = start_parameter(source, start, kClippedEstimator.name, options, nullptr, pass).value_or(0);
  if (!(clip > 0)) {
    throw Error(ErrorKind::data,
                "the start policy gives no weight to the logged actions, so no clip can be chosen; give "
                "--clip or another --start");
  }
  return clip;
}

double automatic_shrinkage(Source& source, const Policy& start, const LearnOptions& options,
                           const std::shared_ptr<const OutcomeModel>& model, const PassOptions& pass) {
  return start_parameter(source, start, options.rules.estimator->name, options, model, pass)
      .value_or(ObjectiveRules{}.shrinkage);
}

}  // namespace scrm
