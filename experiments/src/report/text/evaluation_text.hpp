/// How an evaluation is shown: as tables for people and as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/estimate/weight_histogram.hpp"
#include "scrm/io/shard/schema.hpp"

namespace scrm {

struct EvaluationContext {
  Outcome outcome = Outcome::loss;  ///< what the report's values are
  double seconds = 0;
  int threads = 1;
  std::vector<std::string> warnings = {};  ///< of the data or the request; those of policies are in the report
};

/// The contract of `evaluate --json`; histograms of the policies' weights, where there are any, in the policies' order.
nlohmann::ordered_json evaluation_json(const EvaluationReport& report, const EvaluateOptions& options,
                                       const EvaluationContext& context,
                                       const std::vector<WeightHistogram>& histograms = {});

/// Bins that hold rows: {"low", "high", "rows"}; a bin of the single point zero has both ends there, and the last one
/// holds all weights above its low end.
nlohmann::ordered_json histogram_json(const WeightHistogram& histogram);

/// Two tables, estimates and diagnostics. The warnings in the report are not part of it: they go to stderr.
std::string evaluation_text(const EvaluationReport& report, const EvaluateOptions& options,
                            const EvaluationContext& context);

}  // namespace scrm
