/// ContextWhitening: coordinates in which a linear policy's objective is about equally curved in every direction.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <vector>

#include "scrm/engine/pass.hpp"
#include "scrm/engine/source.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// θ = T ψ with T T^T the inverse of the contexts' second moments (1, x)(1, x)^T. Contexts that are far from zero or go
/// together make a search in θ crawl along a valley; in ψ there is none.
class ContextWhitening {
 public:
  /// One pass over the contexts, to whose moments the objective's ridge l2 adds its own curvature. Nothing for policies
  /// that are not linear in few dense features, where it would not pay or not help.
  static std::optional<ContextWhitening> make(Source& source, const Policy& policy, double l2, const PassOptions& pass);

  std::vector<double> to_theta(const std::vector<double>& psi) const;
  std::vector<double> to_psi(const std::vector<double>& theta) const;
  /// ∂/∂ψ of a function whose ∂/∂θ is given.
  std::vector<double> gradient(const std::vector<double>& by_theta) const;

 private:
  explicit ContextWhitening(Eigen::MatrixXd factor) : factor_(std::move(factor)) {}

  Eigen::MatrixXd factor_;  // lower triangular L with L L^T the second moments; T is the inverse of its transpose
};

}  // namespace scrm
