/// DesignRows: logged rows as the rows of a regression.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "estimate/model/folds.hpp"
#include "estimate/model/ridge_shape.hpp"
#include "policy/kinds/policy_kinds.hpp"
#include "policy/score_matrix.hpp"
#include "scrm/engine/pass/row_mask.hpp"

namespace scrm {

/// The rows of the model: what an action counts for, and which rows count for which fold.
class DesignRows {
 public:
  DesignRows(const RidgeShape& shape, const RidgeUnits& units, const Folds& folds, const RowMask* mask)
      : kind_(shape.kind), outputs_(conjugate_outputs(shape)), action_(units.action), folds_(folds), mask_(mask) {}

  static int conjugate_outputs(const RidgeShape& shape) {
    return shape.kind == ActionKind::categorical ? shape.equations : shape.outputs;
  }
  int outputs() const { return outputs_; }

  struct OfBlock {
    Folds::OfRows folds;
    std::array<std::uint8_t, kBlockRows> keep;
  };
  OfBlock of(const Block& block) const {
    OfBlock out{folds_.of_rows(block), {}};
    out.keep.fill(1);
    if (mask_ != nullptr) mask_->expand(block.first_row, kBlockRows, out.keep.data());
    return out;
  }

  double factor(const Block& block, int output, int row) const {
    if (kind_ == ActionKind::categorical) return block.category[row] == output ? 1 : 0;
    if (output == 0) return 1;
    if (kind_ == ActionKind::multilabel) return block.bits[cell(output - 1, row)] != 0 ? 1 : -1;
    const double u = action_.of(block.action[row]);
    return output == 1 ? u : u * u;
  }

  /// Σ_o S_o f_o of every row, S by the matrix, which goes into `columns`, one for each output.
  void predict(const Block& block, const ScoreMatrix& matrix, PolicyScratch& scratch, double* columns,
               double* out) const;
  /// Σ f_o v over the rows of each context, for every output: what a gradient by scores of contexts is made of.
  void shared_coefficients(const Block& block, const double* values, double* out) const;

  /// Rows of one context repeat what the model cannot say of it. Generalised least squares counts that once: with F the
  /// factors of the context's rows, values become (F Fᵀ + noise)⁻¹ values, in units in which a row by itself counts as
  /// one. Rows that do not count have no factors, and values of zero.
  void whiten(const Block& block, const std::uint8_t* keep, double* values) const;

  /// Bytes with which the matrices of all contexts are held from the first time on; 0 where they would be too large to
  /// gain anything. They are the same in every step of a search.
  static std::size_t held_bytes(const RidgeShape& shape, const Source& source);
  /// Holds them from now on.
  void hold(const Source& source);

 private:
  /// From one score for each context.
  void predict_shared(const Block& block, const double* scores, double* out) const;
  /// (F Fᵀ + noise)⁻¹ in units, of every context of a block, each [replays, replays].
  const double* held_matrices(const Block& block, const std::uint8_t* keep) const;
  void fill_factors(const Block& block, const std::uint8_t* keep, int first, double* out) const;

  ActionKind kind_;
  int outputs_;
  RidgeUnit action_;
  const Folds& folds_;
  const RowMask* mask_;
  // A block is worked on by one thread at a time, and has its own part of both; its first context says whether it is
  // held.
  mutable std::vector<double> held_;
  mutable std::vector<std::uint8_t> is_held_;
};

}  // namespace scrm
