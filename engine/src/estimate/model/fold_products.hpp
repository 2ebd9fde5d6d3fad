/// FoldProducts: what conjugate gradients need of the rows, for ridge models that leave some folds out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "estimate/model/design_rows.hpp"
#include "estimate/model/folds.hpp"
#include "estimate/model/ridge_shape.hpp"
#include "pass/pass_plan.hpp"
#include "pass/pool.hpp"
#include "policy/kinds/policy_kinds.hpp"
#include "policy/score_matrix.hpp"
#include "policy/theta_gradient.hpp"

namespace scrm {

/// Up to two folds whose rows a model does not see.
struct LeftOut {
  int first = Folds::kNone, second = Folds::kNone;

  bool has(int fold) const noexcept { return fold == first || fold == second; }
};

/// Scores of θ, a row of (1, x) weights for each output.
inline Policy scorer(const std::vector<double>& theta, int outputs) {
  Policy policy;
  policy.kind = PolicyKind::softmax;  // a score for each output
  policy.outputs = outputs;
  policy.theta = theta;
  return policy;
}

/// For each set of folds that is left out and its θ, Σ_i v_i f_o (1, x_i) over the other rows: v is the prediction by
/// θ, or, without any θ, the loss less the mean of these rows.
class FoldProducts final : public SizedReduction {
 public:
  using Vector = std::vector<double>;

  struct Sums final : Partial {
    Vector values;
  };

  FoldProducts(const DesignRows& rows, const Schema& schema, std::size_t size, std::span<const LeftOut> left_out,
               std::span<const Vector> thetas, std::span<const double> means, const char* memory_help)
      : rows_(rows), size_(size), left_out_(left_out), means_(means), memory_help_(memory_help) {
    for (const Vector& theta : thetas) matrices_.emplace_back(scorer(theta, rows.outputs()), schema);
  }

  ReductionBytes bytes() const override {
    const auto outputs = static_cast<std::size_t>(rows_.outputs());
    ReductionBytes bytes;
    // A matrix has a copy by features where contexts are sparse, and products are by features first.
    bytes.fixed = 2 * left_out_.size() * size_ * sizeof(double);
    bytes.partial = left_out_.size() * size_ * sizeof(double);
    bytes.scratch = (2 * outputs * kBlockRows + size_ + kBlockRows) * sizeof(double);
    bytes.help = memory_help_;
    return bytes;
  }

  std::unique_ptr<Partial> make() const override {
    auto partial = std::make_unique<Sums>();
    partial->values.resize(left_out_.size() * size_);
    return partial;
  }

  void compute(const Block& block, Partial& out) const override {
    const Pool<PolicyScratch>::Lease scratch = scratch_.lease();
    double* columns = scratch->columns(PolicyScratch::kCallerSlot, rows_.outputs());
    alignas(kColumnAlignment) double values[kBlockRows];
    const DesignRows::OfBlock of_rows = rows_.of(block);
    for (std::size_t at = 0; at < left_out_.size(); ++at) {
      if (matrices_.empty()) {
        for (int i = 0; i < block.rows; ++i) values[i] = block.loss[i] - means_[at];
      } else {
        rows_.predict(block, matrices_[at], *scratch, columns, values);
      }
      for (std::size_t i = 0; i < static_cast<std::size_t>(block.rows); ++i) {
        if (of_rows.keep[i] == 0 || left_out_[at].has(of_rows.folds[i])) values[i] = 0;
      }
      rows_.whiten(block, of_rows.keep.data(), values);
      double* sums = static_cast<Sums&>(out).values.data() + at * size_;
      if (block.replays > 1) {
        rows_.shared_coefficients(block, values, columns);
        shared_context_gradient(block, columns, rows_.outputs(), *scratch, sums);
        continue;
      }
      for (int o = 0; o < rows_.outputs(); ++o) {
        for (int i = 0; i < block.rows; ++i) columns[cell(o, i)] = rows_.factor(block, o, i) * values[i];
        std::fill(columns + cell(o, block.rows), columns + cell(o, kBlockRows), 0.0);
      }
      theta_gradient(block, FeatureMap::linear, columns, rows_.outputs(), *scratch, sums);
    }
  }

  void merge(Partial& earlier, const Partial& later) const override {
    Vector& into = static_cast<Sums&>(earlier).values;
    const Vector& from = static_cast<const Sums&>(later).values;
    for (std::size_t j = 0; j < into.size(); ++j) into[j] += from[j];
  }

  void transfer(Partial& sums, ByteStream& bytes) const override {
    scrm::transfer(bytes, static_cast<Sums&>(sums).values);
  }

 private:
  const DesignRows& rows_;
  std::size_t size_;
  std::span<const LeftOut> left_out_;
  std::span<const double> means_;
  const char* memory_help_;
  std::vector<ScoreMatrix> matrices_;
  mutable Pool<PolicyScratch> scratch_;
};

}  // namespace scrm
