/// Rows of labelled data: going through them, and scaling or projecting all of them.
#pragma once

#include <cstdint>

#include "scrm/io/labelled/labelled_data.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// The value of every entry of row i goes through `visit(feature, value)`.
template <class Visit>
void visit_row(const LabelledData& data, std::int64_t i, Visit visit) {
  if (data.sparse) {
    for (std::int64_t e = data.indptr[static_cast<std::size_t>(i)]; e < data.indptr[static_cast<std::size_t>(i) + 1];
         ++e) {
      visit(data.indices[static_cast<std::size_t>(e)], data.values[static_cast<std::size_t>(e)]);
    }
    return;
  }
  for (std::int64_t j = 0; j < data.features; ++j) {
    visit(j, data.context[static_cast<std::size_t>(i * data.features + j)]);
  }
}

/// Every row times a matrix of N(0, 1/width) entries, each keyed by its place.
LabelledData projected(const LabelledData& data, std::int64_t width, std::uint64_t seed);

/// Every feature divided by its standard deviation over all rows, and dense ones centred first, so that the units it
/// came in do not matter; features that never vary become zero where they are dense. No label is looked at.
LabelledData standardized(LabelledData data);

/// Every row (x, z(x)), dense, z by the map after features are centred and scaled to unit spread over all rows;
/// bandwidth 0 stands for the root of the number of features. No label is looked at.
LabelledData with_fourier(const LabelledData& data, FourierFeatures map);

/// Every row divided by its length; rows of zeros stay.
LabelledData of_unit_length(LabelledData data);

}  // namespace scrm
