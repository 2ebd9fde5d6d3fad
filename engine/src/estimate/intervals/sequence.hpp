/// Confidence sequences: intervals that hold at all numbers of rows at once, however often one looks at growing logs.
#pragma once

#include <cstdint>
#include <vector>

#include "scrm/engine/ranks/byte_stream.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

/// Moments of terms over the epochs of the rows: row 0, row 1, rows 2 and 3, rows 4 to 7, and so on. The boundaries do
/// not depend on how many rows there are, so that logs that grow keep theirs.
struct EpochMoments {
  std::vector<Moments> epochs;

  /// Adds the terms of a block that begins at this row.
  void add(std::int64_t first_row, const double* terms, int rows);
  void merge(const EpochMoments& later);
  void transfer(ByteStream& bytes) { scrm::transfer(bytes, epochs); }
};

/// What is known of terms: no mean is further than `mean` from zero, and no term further than `term`.
struct TermBounds {
  double mean = 0, term = 0;
};

/// Half the width around the mean of terms, for bounded ones. An empirical-Bernstein sequence (Howard, Ramdas,
/// McAuliffe and Sekhon 2021, Theorem 4): with V the squared distances of the terms to the mean of all epochs before
/// theirs (0 for the first), and Σ (x − μ) below u(V) for ever with probability 1 − δ/2, each way. u mixes gamma
/// priors, which are best after different numbers of rows.
double bounded_sequence_half_width(const EpochMoments& terms, const TermBounds& bounds, double level);

/// The same without bounds, in the limit of many rows: Robbins' normal mixture, from the standard error alone
/// (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2021).
double asymptotic_sequence_half_width(double standard_error, double rows, double level);

}  // namespace scrm
