/// A StudyDesign made of labelled rows: how estimators do on anybody's multiclass data.
#pragma once

#include <cstddef>
#include <string>

#include "scrm/io/labelled/labelled_data.hpp"
#include "study/designs/design.hpp"

namespace scrm {

/// Rows of one class each become logs of a bandit: a row is met, a class is chosen, and the loss is −1 where it is the
/// right one, else 0. In an order that the name of the design fixes, the first twentieth of the rows trains a softmax
/// policy that logs, with a fifth of uniform actions; the next three tenths train the target, which plays what it
/// thinks likeliest, with a tenth of uniform actions; all others are the population that logs are drawn from, with
/// replacement. Its means are the truth, to rounding. Features are taken by their standard deviations. An Error where
/// the rows have no single classes, are sparse, or are fewer than twenty.
StudyDesign labelled_design(const std::string& name, const LabelledData& data);

/// Bytes that the design of such data holds.
std::size_t labelled_design_bytes(const LabelledData& data);

}  // namespace scrm
