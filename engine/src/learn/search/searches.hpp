/// Searches for the best parameters of a policy that share their passes over the rows.
#pragma once

#include <span>
#include <vector>

#include "scrm/engine/learn/learn.hpp"

namespace scrm {

/// One search: where it starts, what it minimises, and what came of it.
struct Search {
  ObjectiveProblem start;
  bool report = false;  // to on_progress
  bool plain = false;   // in θ's own coordinates, whatever the options say
  LearnedPolicy result = {};
};

/// Whether every search is also done in θ's own coordinates. Rows are few enough for that to cost little, and where
/// there are several minima the way there decides.
bool searches_twice(const Source& source, const LearnOptions& options);

double norm_of(const std::vector<double>& gradient);

/// What one search holds, done or not.
std::size_t search_bytes(const Policy& start) noexcept;
/// What is left for passes beside `count` searches and `masks` sets of rows.
PassOptions beside_searches(const Source& source, const Policy& start, std::size_t count, std::size_t masks,
                            const PassOptions& pass);
/// Throws where a search has not found a single point with a value.
void require_objective(const LearnedPolicy& found);

/// Runs all searches: in lock step, or one after another where sharing passes gains nothing. The results are the same.
void run_searches(Source& source, std::span<Search> searches, const LearnOptions& options, const PassOptions& pass);

}  // namespace scrm
