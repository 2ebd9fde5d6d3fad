/// Options of environments whose lambdas are candidates of a penalty by the standard deviation.
#pragma once

#include "scrm/experiments/run_options.hpp"

namespace scrm {

inline RunOptions sd_penalty_options() {
  RunOptions options;
  options.penalty = Penalty::sd;
  options.lambdas.clear();
  for (const double lambda : options.lambda_candidates) options.lambdas.push_back({LambdaKind::given, lambda});
  return options;
}

}  // namespace scrm
