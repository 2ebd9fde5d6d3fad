/// The default interval: normal where that is right, wider where estimates are skewed, doubtful where nobody can know.
#pragma once

#include <utility>

#include "estimate/groups/shape.hpp"

namespace scrm {

/// Let g be the skewness of the estimate and k its concentration, as seen or, where that is more, as expected of large
/// weights with the losses that the policy meets. A normal interval of level 95 % misses about 0.25 g² more than it
/// should, so up to g = 0.12 it is kept (with Student's quantile of `degrees` degrees of freedom, one less than there
/// are rows or clusters), and from g = 0.4 on it is replaced by the wider of two at each end: Student's with 2 / (k −
/// 1/G) degrees of freedom, which is what the error estimated from G groups is worth (Satterthwaite), and the exact
/// limit of the number of rare events, N = 1/g² of which have that skewness. In between the two grow gradually. Tails
/// heavier than those of rare events of one size (k above g²) hide some of their skewness: it is taken up to twice.
std::pair<double, double> automatic_interval(double value, const Shape& shape, double standard_error, double degrees,
                                             double level);

/// Whether so few rows decide that no interval made from them can be relied on: one over k is below 2.5 (with fewer
/// than 200 groups below 5), or below 6 where the outcome is one of few events (of which there could as well have been
/// none).
bool is_decided_by_few(const Shape& shape);
/// Whether less than one row is to be expected that has both a large weight and an outcome: those seen do not show how
/// much the estimate varies.
bool hides_large_terms(const Shape& shape);
/// The first of a difference, whose terms are small where the policies agree: one over k is below 2, or fewer than 5
/// rows make up most of how the weights differ: of what the policy does otherwise, those are all that is seen.
bool is_difference_doubtful(const Shape& shape, const Shape& weights);

/// Whether heavy weights are so few among the rows that others may be missing from them, which lowers the mean weight.
bool has_heavy_weights(const Shape& weights);

/// A mean weight that lies more than three standard errors from one.
struct MeanWeight {
  double mean = 0, z = 0;
  double groups = 0;         ///< rows, or clusters
  double largest = 0;        ///< weight
  double largest_share = 0;  ///< of it in all weights
};
/// Whether chance does not explain that: one lies outside of the automatic interval of as many standard errors. Where
/// heavy weights are few and their mean is low, rows that are missing by chance may be all there is to it: they are
/// not taken to weigh more than four times the largest weight seen, and nothing is said where one row holds a tenth of
/// the weight. With right propensities about one log in a hundred is taken to be off, of tens of rows as well.
bool is_mean_weight_off(const MeanWeight& seen, const Shape& weights);

/// Whether the weights are so concentrated that rows not seen yet could change everything: fewer than 100 effective
/// rows (or clusters) of which few carry most, or a small share of all of them with heavy ones among them.
bool are_weights_doubtful(const Shape& weights, double effective_rows, double rows);

}  // namespace scrm
