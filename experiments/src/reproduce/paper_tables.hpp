/// The paper's tables, ours beside theirs.
#pragma once

#include <vector>

#include "report/page/report_table.hpp"
#include "reproduce/archives.hpp"
#include "reproduce/request.hpp"

namespace scrm {

/// Rows needed on the gaussian example for a mean loss of p·L(θ*).
ReportTable rows_table(const PaperArchives& archives, const ReproduceOptions& options);

/// SCRM with λ in hindsight and by `auto`.
ReportTable lambda_table(const PaperArchives& archives, const ReproduceOptions& options);

/// Test loss of every method after the last rollout: one table for each environment that there are runs of.
std::vector<ReportTable> loss_tables(const PaperArchives& archives, const ReproduceOptions& options);

}  // namespace scrm
