/// FeatureMoments: means and spreads of the features that policies see.
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "ranks/eigen_bytes.hpp"
#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/source.hpp"

namespace scrm {

/// Mean and centred square sum of every feature of φ(x).
struct FeatureMoments {
  double rows = 0;
  Eigen::VectorXd mean, square_sum;

  void merge(const FeatureMoments& later) {
    const double total = rows + later.rows;
    if (total == 0) return;
    const Eigen::ArrayXd delta = (later.mean - mean).array();
    mean.array() += delta * (later.rows / total);
    square_sum.array() += later.square_sum.array() + delta.square() * (rows * (later.rows / total));
    rows = total;
  }
  void transfer(ByteStream& bytes) {
    scrm::transfer(bytes, rows);
    scrm::transfer(bytes, mean);
    scrm::transfer(bytes, square_sum);
  }
};

/// In one pass, of so many features of φ(x); those of sparse contexts are the columns themselves.
FeatureMoments feature_moments(Source& source, std::int64_t features, const PassOptions& pass);

}  // namespace scrm
