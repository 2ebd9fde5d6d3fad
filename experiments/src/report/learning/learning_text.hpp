/// How a fit is shown: the path and the outcome for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/policy/exploration.hpp"

namespace scrm {

/// One policy that was learned, where it was written, and what the rows held out say about it.
struct LearnOutcome {
  LearnedPolicy learned;
  std::string path;
  std::optional<PolicyReport> held_out = {};  ///< one estimate, in losses
  std::int64_t held_out_rows = 0;
  std::optional<Exploration> exploration = {};
};

struct LearnContext {
  Outcome outcome = Outcome::loss;        ///< what the rows held; everything here is in losses
  bool labels = false;                    ///< actions are multilabel
  std::vector<std::string> action_names;  ///< as the data names them, or empty
  Moments loss;                           ///< of the rows learned from
  std::string estimator;
  Penalty penalty = Penalty::se;
  bool chose_l2 = false;                       ///< l2 by auto
  bool tuned = false;                          ///< residuals were shrunk by the report's shrinkage
  bool centred = false;                        ///< losses were taken less their mean
  std::optional<double> min_scale = {};        ///< set: the scale was learned, and not below this
  bool chose_scale = false;                    ///< the scale is half of the logged actions' spread
  double logged_spread = 0;                    ///< of the logged actions, in the scale's unit; 0: not known
  std::optional<double> explained = {};        ///< set: started at their regression, the spread is that around it
  bool started = false;                        ///< from a policy that was given, which fixes scale and epsilon
  std::vector<std::int64_t> action_counts;     ///< of the rows learned from, by category; else empty
  std::vector<std::string> constant_features;  ///< that never vary in the rows learned from
  std::vector<std::string> data_warnings;      ///< said already, of the rows rather than of a policy
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
std::vector<std::string> learning_warnings(const LearnOutcome& outcome, const LearnContext& context);

}  // namespace scrm
