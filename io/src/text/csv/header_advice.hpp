/// What may be wrong with a header where a column is not found: its encoding, its delimiter, or that it is none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scrm {

/// Whether half of the fields of a first line, or more, are numbers or dates.
bool looks_like_data(const std::vector<std::string>& header);

/// "the first line looks like data, not names …" with what to do.
std::string no_header_advice(const std::string& file, std::size_t columns);

/// What to do where no column has this name (or begins with it, where `prefix`); empty where nothing but the name is
/// known to be wrong. Looks into the file again where it is a regular one.
std::string header_advice(const std::string& file, const std::vector<std::string>& header, std::string_view name,
                          bool prefix);

}  // namespace scrm
