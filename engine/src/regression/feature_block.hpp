/// The terms of a state kernel, by powers of the action, each with all its features or with inducing points.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "regression/inducing_points.hpp"
#include "regression/kernel_values.hpp"

namespace scrm {

/// One term ways · (a a')^action_power · kernel(x, x') of the state kernel.
struct Term {
  StateKernel kernel;
  double ways = 1;
  int action_power = 0;
  bool finite = true;  ///< all its features, or inducing points
};

/// (x·x' + 1 + a a')^p has the features √C(p, j) a^(p−j) ψ_j(x), ψ_j those of (x·x' + 1)^j. Highest powers of the
/// action come first, so that in the Cholesky factor numbers of the size a^(2p) are never subtracted from each other.
/// Other kernels are one term of the whole state.
std::vector<Term> terms_of(const KernelRidgeOptions& options);

/// A term with its features.
struct FeatureBlock : Term {
  std::optional<FiniteFeatures> features;
  std::optional<InducingPoints> points;
  std::int64_t offset = 0;
  double trace = 0, missed = 0;  // over rows, of the kernel and of what points leave of it

  FeatureBlock(const Term& term, std::optional<std::int64_t> most) : Term(term) {
    if (finite) {
      features.emplace(kernel);
    } else {
      points.emplace(kernel, most);
    }
  }

  std::int64_t size() const { return finite ? features->dimension() : points->count(); }
  void fill(const States& inputs, Columns out) const {
    return finite ? features->fill(inputs, out) : points->fill(inputs, out);
  }
  /// The part of a column of all features, or what of columns is not zero before this block.
  template <class Matrix>
  auto rows_of(Matrix& all) const {
    return all.middleRows(offset, size());
  }
};

/// Rows whose features are summed up at once where they need not be kept.
std::int64_t chunk_rows(const StateKernel& kernel);

}  // namespace scrm
