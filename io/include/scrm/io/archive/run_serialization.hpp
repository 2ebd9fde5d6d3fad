/// The bytes of a RunRecord in a journal: exact to the bit, and the same on every machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "scrm/io/archive/run_record.hpp"

namespace scrm {

std::string serialize_run(const RunRecord& run);
/// Empty when the bytes are not exactly those of a record.
std::optional<RunRecord> deserialize_run(std::string_view bytes);

}  // namespace scrm
