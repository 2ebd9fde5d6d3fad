/// What an import says about itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scrm/io/import/import_output.hpp"

namespace scrm {

/// One object with a line break: rows, what was left out, features, actions and where they are.
std::string import_json(const ImportResult& result, const std::string& out, const std::string& encoding,
                        double seconds);

/// The same in a line or two.
std::string import_text(const ImportResult& result, const std::string& out, const std::string& encoding,
                        double seconds);

/// What the encoding put in place of values, each a line; none where it put nothing.
std::vector<std::string> substitution_lines(std::int64_t filled_holes, std::int64_t other_levels);

/// How many rows were left out and why; empty where none was.
std::string skipped_text(const ImportResult& result);

}  // namespace scrm
