/// Parameters of estimators that nobody gave, as `evaluate` finds them for the start policy on the rows to learn from.
#pragma once

#include <memory>

#include "scrm/engine/learn/learn.hpp"

namespace scrm {

/// M of `clipped`.
double automatic_clip(Source& source, const Policy& start, const LearnOptions& options, const PassOptions& pass);

/// What residuals are shrunk by, of estimators with a model.
double automatic_shrinkage(Source& source, const Policy& start, const LearnOptions& options,
                           const std::shared_ptr<const OutcomeModel>& model, const PassOptions& pass);

}  // namespace scrm
