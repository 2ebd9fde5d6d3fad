/// What an import says about itself.
#pragma once

#include <string>

#include "scrm/io/import/import_output.hpp"

namespace scrm {

/// One object with a line break: rows, what was left out, features, actions and where they are.
std::string import_json(const ImportResult& result, const std::string& out, const std::string& encoding,
                        double seconds);

/// The same in a line or two.
std::string import_text(const ImportResult& result, const std::string& out, const std::string& encoding,
                        double seconds);

/// How many rows were left out and why; empty where none was.
std::string skipped_text(const ImportResult& result);

}  // namespace scrm
