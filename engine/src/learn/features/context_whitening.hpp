/// ContextWhitening: coordinates in which the objective is about equally curved in every direction, whatever the units.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// Each row of θ is T ψ with T T^T the inverse of the contexts' second moments (1, x)(1, x)^T. Contexts that are far
/// from zero, of different size, or go together make a search in θ crawl along a valley or end on its slope; in ψ there
/// is none. Where features are many, sparse or products, each counts for itself: by its mean and standard deviation.
class ContextWhitening {
 public:
  /// One pass over the contexts, to whose moments the objective's ridge l2 adds its own curvature. Nothing where there
  /// are no features, or products of sparse ones. Features of any size count the same with `any_units`; else those far
  /// below 1e-5 are taken for nothing.
  static std::optional<ContextWhitening> make(Source& source, const Policy& policy, double l2, bool any_units,
                                              const PassOptions& pass);
  /// Whether it is policies with one score, linear in few dense features: there it always pays.
  static bool is_cheap(const Schema& schema, const Policy& policy);

  std::vector<double> to_theta(const std::vector<double>& psi) const;
  std::vector<double> to_psi(const std::vector<double>& theta) const;
  /// ∂/∂ψ of a function whose ∂/∂θ is given.
  std::vector<double> gradient(const std::vector<double>& by_theta) const;

 private:
  ContextWhitening() = default;

  /// The rows of a θ (one for each score), each of them changed in place.
  template <class Change>
  std::vector<double> each_row(std::vector<double> theta, Change&& change) const {
    const Eigen::Index width = means_.size() > 0 ? means_.size() + 1 : factor_.rows();
    for (Eigen::Index first = 0; first < std::ssize(theta); first += width) {
      Eigen::Map<Eigen::VectorXd> row(theta.data() + first, width);
      change(row);
    }
    return theta;
  }

  // L with L L^T the second moments; T is the inverse of its transpose. Lower triangular, or, where each feature counts
  // for itself, with nothing but the means in the first column and the scales on the diagonal.
  Eigen::MatrixXd factor_;
  Eigen::VectorXd means_, scales_;
};

}  // namespace scrm
