/// The bytes of a RunRecord in a journal: exact to the bit, and the same on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scrm/io/run_record.hpp"

namespace scrm {

/// Appends a number in little-endian order.
void put_u32(std::string& out, std::uint32_t value);
void put_u64(std::string& out, std::uint64_t value);

/// The number at the beginning of `bytes`, which must be long enough.
std::uint32_t get_u32(std::string_view bytes);
std::uint64_t get_u64(std::string_view bytes);

std::string serialize_run(const RunRecord& run);
/// Empty when the bytes are not exactly those of a record.
std::optional<RunRecord> deserialize_run(std::string_view bytes);

}  // namespace scrm
