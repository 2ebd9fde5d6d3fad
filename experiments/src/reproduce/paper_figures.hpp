/// The paper's figures, from our runs.
#pragma once

#include <vector>

#include "report/page/page.hpp"
#include "reproduce/archives.hpp"
#include "reproduce/estimator_study.hpp"
#include "reproduce/request.hpp"

namespace scrm {

/// Figure 1: where CRM and SCRM get to on the gaussian example, rollout by rollout.
std::vector<PageBlock> figure_1(const PaperArchives& archives, const ReproduceOptions& options);

/// Figure 2: loss by sample size, a picture for each environment.
std::vector<PageBlock> figure_2(const PaperArchives& archives, const ReproduceOptions& options);

/// Figure 3: bias, variance, squared error and mean weight of every estimator, and the numbers as a table.
std::vector<PageBlock> figure_3(const EstimatorStudy& study);

/// Figure 4: the best final loss by the distance of the start.
std::vector<PageBlock> figure_4(const PaperArchives& archives, const ReproduceOptions& options);

/// Figure 8: (e^{δ²} − 1)/δ^{2β}, the ratio behind the paper's assumption on how variance grows with distance.
std::vector<PageBlock> figure_8();

}  // namespace scrm
