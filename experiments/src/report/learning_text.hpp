/// How a fit is shown: the path and the outcome for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/evaluate.hpp"
#include "scrm/engine/learn.hpp"

namespace scrm {

/// One policy that was learned, where it was written, and what the rows held out say about it.
struct LearnOutcome {
  LearnedPolicy learned;
  std::string path;
  std::optional<Estimate> held_out;
  Diagnostics held_out_diagnostics;
};

struct LearnContext {
  std::string estimator;
  Penalty penalty = Penalty::se;
  double holdout = 0;
  std::int64_t held_out_rows = 0;
  bool streamed = false;
  double seconds = 0;
  int threads = 1;
};

/// The contract of `learn --json`; with several λ, the first policy and the list of all.
nlohmann::ordered_json learning_json(const LearnReport& report, const std::vector<LearnOutcome>& outcomes,
                                     const LearnContext& context);

std::string learning_text(const LearnReport& report, const std::vector<LearnOutcome>& outcomes,
                          const LearnContext& context);

/// What a practitioner must know before deploying a policy; empty when all is well.
std::vector<std::string> learning_warnings(const LearnOutcome& outcome);

}  // namespace scrm
