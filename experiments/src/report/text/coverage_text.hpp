/// What a study of intervals found, as tables for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scrm/io/archive/coverage_archive.hpp"
#include "study/designs/design.hpp"

namespace scrm {

/// Coverage below the level by more than three Monte-Carlo errors; false where there is no interval.
bool falls_short(const CoverageRecord& record, double level);

/// A table for each design, in the order of the records, and how each kind of interval did over all of them.
std::string coverage_text(const CoverageArchive& archive);

/// Kinds of intervals, other than normal, that were the normal interval on every log: automatic choices that were never
/// made, or kinds that the engine does not know apart.
std::vector<std::string> normal_in_all_but_name(const CoverageArchive& archive);

/// An object a record, null for numbers that there are not.
nlohmann::json to_json(const CoverageRecord& record);
/// An object a design: its truth, and what else a reader of the records wants to know.
nlohmann::json to_json(const StudyDesign& design);

}  // namespace scrm
