/// ReportFolder: a report on disk: index.html, and its tables and figures as files of their own.
#pragma once

#include <string>
#include <vector>

#include "report/page/page.hpp"

namespace scrm {

/// Throws unless a report may be written to this folder: one that is not there yet or empty, or, with `overwrite`, one
/// that holds a report already.
void require_report_folder(const std::string& folder, bool overwrite);

struct ReportFiles {
  std::string page;
  std::vector<std::string> tables, figures;
};

/// Writes tables/NAME.{md,tex,csv}, figures/NAME.svg and, when all of them are there, index.html; each appears when it
/// is whole. Tables and figures of an earlier report that this one does not have are removed.
ReportFiles write_report(const Page& page, const std::string& folder);

}  // namespace scrm
