/// The kinds of problems there are: synthetic environments and labelled data sets.
#pragma once

#include <memory>
#include <string>

#include "scrm/experiments/problem.hpp"
#include "scrm/io/labelled_data.hpp"

namespace scrm {

/// A synthetic environment of environments().
std::unique_ptr<ProblemFactory> make_synthetic_factory(const std::string& name);

/// What is particular to a labelled data set.
struct LabelledTraits {
  double bonus = 0;          ///< added to every coefficient of the first policy, so that it is not too good
  bool unit_length = false;  ///< rows are scaled to length one
};

/// Bandit problems made of supervised data: a row is met, bits are chosen, and the share of wrong ones is the loss.
std::unique_ptr<ProblemFactory> make_labelled_factory(std::shared_ptr<const LabelledData> data,
                                                      const LabelledTraits& traits);

}  // namespace scrm
