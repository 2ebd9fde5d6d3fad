/// Options that say which kind of policy `learn` fits, and where its search starts.
#pragma once

#include <optional>
#include <string>

#include "cli/command.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

struct LearningStartOptions {
  std::string kind;  ///< empty: what suits the actions
  FeatureMap features = FeatureMap::linear;
  Mixing mixing = Mixing::joint;
  std::string scale = "0.5";  ///< or "learned"
  std::optional<double> min_scale;
  double epsilon = 0.1;
  std::string file;
};

void add_learning_start_options(CLI::App& app, LearningStartOptions& options);

/// A usage error where --scale or --min-scale is no number that it could be.
void require_valid(const LearningStartOptions& options);

struct LearningStart {
  Policy policy;
  std::optional<double> min_scale;  ///< set: the scale is learned, not below this
};

/// The policy of the file, or one at the mean of the logged actions. A scale that is learned starts from half of their
/// spread and stays above a tenth of it, unless the options say otherwise: whatever the unit of actions.
LearningStart learning_start(Source& source, const LearningStartOptions& options, bool skip_bad_rows,
                             const CommonOptions& common);

}  // namespace scrm
