/// run_estimator_study: bias, variance and mean squared error of every estimator, over many logs of designs whose truth
/// is known.
#pragma once

#include <vector>

#include "scrm/io/archive/estimator_archive.hpp"
#include "study/study_options.hpp"

namespace scrm {

/// Records by design, rows and estimator. Estimators are all that apply to a design's logs, those that are not
/// evaluated by default among them; the model of those that need one is a ridge regression, cross-fitted anew on every
/// log. Each log is drawn, evaluated by one thread and dropped. The same bits at any number of threads.
std::vector<EstimatorRecord> run_estimator_study(const StudyOptions& options);

}  // namespace scrm
