/// sweep_page: the report of a sweep's archive.
#pragma once

#include <string>

#include "report/page/page.hpp"
#include "scrm/io/archive/result_archive.hpp"

namespace scrm {

/// `name` is what the archive is called on the page.
Page sweep_page(const ResultArchive& archive, const std::string& name);

/// What `scrm inspect` says of an archive, for people and as JSON.
std::string archive_text(const ResultArchive& archive, const std::string& name);
nlohmann::ordered_json archive_json(const ResultArchive& archive);

}  // namespace scrm
