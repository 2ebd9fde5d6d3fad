/// What a study of estimators found, as tables for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "scrm/io/archive/estimator_archive.hpp"

namespace scrm {

/// A table for each design and size, in the order of the records: the least root mean squared error is emphasized.
std::string estimator_text(const EstimatorArchive& archive);

/// An object a record, null for numbers that there are not.
nlohmann::json to_json(const EstimatorRecord& record);

}  // namespace scrm
