/// SearchCoordinates: the numbers that a search varies, and the policies they stand for.
#pragma once

#include <optional>
#include <vector>

#include "learn/features/context_whitening.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// θ in a unit, in white coordinates where there are such, and last, where the scale is learned, t with scale = floor
/// cosh t: no t is forbidden, and where the best scale lies below the floor the search ends in a bowl around t = 0
/// rather than on an endless slope.
class SearchCoordinates {
 public:
  SearchCoordinates(const ContextWhitening* white, double unit, std::optional<double> min_scale)
      : white_(white), unit_(unit), min_scale_(min_scale) {}

  bool is_plain() const { return white_ == nullptr && unit_ == 1; }
  /// The same with θ as it is.
  SearchCoordinates plain() const { return {nullptr, 1, min_scale_}; }

  /// The point that stands for a policy. A scale at its floor begins a little above: at t = 0 there is no slope to
  /// leave by.
  std::vector<double> point_of(const Policy& policy) const;
  /// Gives the policy the parameters that the point stands for.
  void apply(const std::vector<double>& point, Policy& policy) const;
  /// ∂ by the point of a function whose derivatives by θ and log scale are given.
  std::vector<double> gradient(const std::vector<double>& point, const std::vector<double>& by_parameters) const;

 private:
  const ContextWhitening* white_;
  double unit_;
  std::optional<double> min_scale_;
};

/// The unit of θ in which steps of a length of about one change the actions of a gaussian or lognormal policy about as
/// much as its scale does: a power of two, which rounds nothing, and one unless the scale is far from one half.
double unit_of(const Policy& policy);

}  // namespace scrm
