/// The objective of a multilabel policy on rows that share contexts, in two passes over rows held in memory.
#pragma once

#include "scrm/engine/objective.hpp"

namespace scrm {

/// Whether evaluate_replayed applies. A property of rows and problem alone: the two routes differ in the last bits.
bool shares_contexts(const Schema& schema, const ObjectiveProblem& problem);

/// The first pass adds up the terms; then the factor of every row's slope is known, and the second multiplies contexts
/// with one column a label, where a single pass needs three for a ratio. Scores, logarithms and slopes are computed
/// once for each context.
ObjectiveValue evaluate_replayed(Source& source, const ObjectiveProblem& problem, const PassOptions& options,
                                 bool skip_bad_rows);

}  // namespace scrm
