/// ContextPower: features ψ(x) with ψ(x)·ψ(x') = (x·x' + 1)^degree, exact where they are few, else on inducing
/// contexts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "regression/inducing_points.hpp"
#include "scrm/engine/kernel_state.hpp"

namespace scrm {

class ContextPower {
 public:
  /// Monomials where they are no more than `points`, or the degree is at most 1.
  ContextPower(std::int64_t features, int degree, std::int64_t points);

  bool exact() const noexcept { return !points_; }
  std::int64_t dimension() const noexcept { return points_ ? points_->count() : dimension_; }
  static std::int64_t max_dimension(std::int64_t features, int degree, std::int64_t points) noexcept;

  /// InducingPoints::extend; false where there are none to extend.
  bool extend(std::span<const double> contexts, std::int64_t count, double tolerance, double noise);
  /// One column a context, `leading` apart.
  void fill(const double* contexts, int n, double* out, std::int64_t leading) const;
  /// (x·x + 1)^degree.
  double own(const double* context) const;

  std::size_t bytes() const noexcept;
  /// At most, while `rows` contexts are offered.
  static double bytes_needed(std::int64_t features, int degree, std::int64_t points, std::int64_t rows) noexcept;

 private:
  StateKernel kernel_;  // a context is a state whose last number passes for the action
  int degree_;
  std::int64_t dimension_;
  std::optional<StateFeatures> monomials_;
  std::optional<InducingPoints> points_;
};

}  // namespace scrm
