/// LearningModel: what a model says of the rows that policies are learned from, worked out once where memory allows.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "scrm/engine/estimate/outcome_model.hpp"
#include "scrm/engine/pass/pass.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"

namespace scrm {

/// A model does not change while a policy is learned, so that its columns are the same in every pass. Serves all
/// threads.
class LearningModel {
 public:
  /// Holds all columns where they take a quarter of `pass.memory` at most (0: always), and leaves them to each block's
  /// turn otherwise. Columns are held for the blocks of `source`, and found by the number of their first row.
  LearningModel(std::shared_ptr<const OutcomeModel> model, Source& source, const PassOptions& pass);

  const OutcomeModel& model() const noexcept { return *model_; }
  /// Held for good.
  std::size_t bytes() const noexcept;
  /// Columns of kBlockRows that of() needs in the scratch of each thread.
  std::size_t scratch_columns() const noexcept;

  struct OfBlock {
    OutcomeCoefficients coefficients;
    const double* logged = nullptr;  ///< q(x, a) of the logged actions
  };
  /// Valid until the scratch is used for another block.
  OfBlock of(const Block& block, PolicyScratch& scratch) const;

 private:
  int columns() const { return model_->coefficient_columns() + 1; }
  OutcomeCoefficients fill(const Block& block, PolicyScratch& scratch, double* out) const;

  struct HeldBlock {
    AlignedArray<double> columns;
    OutcomeCoefficients coefficients;
  };
  std::shared_ptr<const OutcomeModel> model_;
  std::vector<HeldBlock> held_;
};

}  // namespace scrm
