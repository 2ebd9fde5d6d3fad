/// Parts of a page about sweeps: tables of losses, learning curves, diagnostics, times. Pure functions of a summary.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "report/charts/xy_chart.hpp"
#include "report/page/page.hpp"
#include "report/sweep/sweep_summary.hpp"

namespace scrm {

/// Methods × environments, mean ± sd of the final loss. The best of each environment is strong.
ReportTable loss_table(const SweepSummary& summary);

/// Every hyper-parameter that was tried.
ReportTable hyperparameter_table(const SweepSummary& summary);

/// Time and rows of a run.
ReportTable time_table(const SweepSummary& summary);

/// What each rollout cost, by rows logged so far, with a band of one standard deviation; methods that learn nothing are
/// levels.
XyChart loss_chart(const EnvironmentSummary& environment);

/// Effective sample size of each rollout's rows under what was learned from them; no series where no run has it.
XyChart ess_chart(const EnvironmentSummary& environment);
/// Their mean weight, which a policy that the rows can judge keeps near 1.
XyChart weight_chart(const EnvironmentSummary& environment);

/// Failed runs, by what they say.
std::vector<std::string> failure_texts(const std::vector<RunRecord>& runs);

/// All lines with their curves, and all hyper-parameters.
nlohmann::ordered_json summary_json(const SweepSummary& summary);

/// "λ = 0.01", or nothing where a run has no λ or finds its own.
std::string lambda_note(const SweepCell& cell);

}  // namespace scrm
