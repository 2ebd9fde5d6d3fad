/// SweepSummary: the runs of an archive as a report shows them: by environment and method, over seeds.
#pragma once

#include <string>
#include <vector>

#include "report/text/sweep_table.hpp"
#include "scrm/io/archive/run_record.hpp"

namespace scrm {

/// Mean and spread over seeds after each rollout. Seeds whose curves are shorter count as far as they go.
struct LearningCurve {
  std::vector<double> rows;      ///< logged so far, mean over seeds
  std::vector<double> mean, sd;  ///< of the loss; sd is NaN where there is one seed
  std::vector<double> seeds;     ///< that have got this far
};

/// One line of the report: a method in an environment, with λ chosen in hindsight or by a rule.
struct SummaryLine {
  SweepCell cell;
  std::string label;                   ///< the method, and the rule of λ where that is not the best of a list
  std::vector<const RunRecord*> runs;  ///< of the cell, failed ones too
  LearningCurve curve;                 ///< of the test loss
  bool learns = false;                 ///< rows were logged
};

struct EnvironmentSummary {
  std::string name;
  std::vector<SummaryLine> lines;
};

struct SweepSummary {
  std::vector<EnvironmentSummary> environments;  ///< in the archive's order
  std::vector<std::string> labels;               ///< of all lines, in order of appearance
  std::vector<SweepCell> cells;                  ///< all hyper-parameters
};

/// The runs must outlive the summary.
SweepSummary summarize(const std::vector<RunRecord>& runs);

/// The line of that label; null where the environment has none.
const SummaryLine* find_line(const EnvironmentSummary& environment, const std::string& label);

/// Mean and spread of a further curve of the runs that succeeded, such as "ess"; empty where no run has it.
LearningCurve mean_curve(const std::vector<const RunRecord*>& runs, const std::string& name);

}  // namespace scrm
