/// The designs of studies, one function a family; study_designs() lists what they make.
#pragma once

#include <functional>
#include <vector>

#include "study/designs/design.hpp"

namespace scrm {

/// Probabilities of the actions under both policies.
struct ActionChances {
  std::vector<double> logging, target;
};

/// Actions of a list: `loss` draws the loss of an action and `mean` is its expectation.
StudyDesign categorical_design(ActionChances chances, std::function<double(int action, RandomStream&)> loss,
                               const std::function<double(int action)>& mean);

/// Five actions with chances 0.4, 0.3, 0.15, 0.1, 0.05, and a uniform target.
ActionChances few_actions();

/// Losses 0 or 1, with a chance for each action.
StudyDesign zero_one_design(ActionChances chances, const std::function<double(int action)>& chance);

/// Logging N(0, 1), target N(shift, 1), loss level + (a + noise) / 2 with standard normal noise: the value is
/// level + shift / 2.
StudyDesign gaussian_shift(double shift, double level);

/// 40 actions logged by Zipf's law, p_k ∝ 1/k, outcomes 0 or 1. Action k has rate (1/2 + (k − 1)/39): `rate` on average
/// over the actions. Target: uniform, or the policy that logs.
StudyDesign rare_outcomes(double rate, bool logged_target);

/// Ten items, of which the first is shown in 91 % of the rows and the others in 1 % each; outcomes 0 or 1, with chances
/// rate/2 for the first item and `rate` for the others. Target: uniform, or always the last item.
StudyDesign little_exploration(double rate, bool one_item);

/// few_actions(); action k costs 1 + k/4 times a draw of mean `mean`.
StudyDesign heavy_losses(const std::function<double(RandomStream&)>& draw, double mean);

/// Independent bits and labels, at most eight, Hamming loss; logging probabilities 0.3, 0.35, …, each `shift` more in
/// the target.
StudyDesign shifted_labels(int labels, double shift);

/// Five actions as in heavy_losses, losses N(k/4, 1), propensities recorded a fifth too large.
StudyDesign wrong_propensities();

/// The same actions and losses with right propensities; 20 rows that follow each other share an effect N(0, 1).
StudyDesign clustered_rows();

}  // namespace scrm
