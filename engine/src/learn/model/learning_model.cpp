#include "learn/model/learning_model.hpp"

#include <utility>

#include "pass/pool.hpp"
#include "policy/kinds/policy_kinds.hpp"

namespace scrm {
namespace {

constexpr std::size_t kMemoryShare = 4;
constexpr std::size_t kColumnBytes = kBlockRows * sizeof(double);

}  // namespace

LearningModel::LearningModel(std::shared_ptr<const OutcomeModel> model, Source& source, const PassOptions& pass)
    : model_(std::move(model)) {
  const auto blocks = static_cast<std::size_t>(source.blocks());
  const std::size_t bytes = blocks * static_cast<std::size_t>(columns()) * kColumnBytes;
  if (pass.memory > 0 && bytes > pass.memory / kMemoryShare) return;
  PassOptions beside = pass;
  if (pass.memory > 0) beside.memory = pass.memory - bytes;
  std::vector<HeldBlock> held(blocks);
  Pool<PolicyScratch> pool;
  // Each block has its own place: the pass adds nothing up. Bad rows were seen to when the model was fitted.
  run_pass(
      source, 0,
      [&](const Block& block, int&) {
        HeldBlock& here = held[static_cast<std::size_t>(block.first_row / kBlockRows)];
        here.columns = make_aligned<double>(static_cast<std::size_t>(columns()) * kBlockRows);
        const Pool<PolicyScratch>::Lease scratch = pool.lease();
        here.coefficients = fill(block, *scratch, here.columns.get());
      },
      [](int&, int) {}, beside);
  held_ = std::move(held);
}

std::size_t LearningModel::bytes() const noexcept {
  return held_.size() * static_cast<std::size_t>(columns()) * kColumnBytes;
}

std::size_t LearningModel::scratch_columns() const noexcept {
  return held_.empty() ? 3 * static_cast<std::size_t>(columns()) : 0;
}

OutcomeCoefficients LearningModel::fill(const Block& block, PolicyScratch& scratch, double* out) const {
  model_->logged(block, scratch, out + static_cast<std::int64_t>(columns() - 1) * kBlockRows);
  return model_->coefficients(block, scratch, out);
}

LearningModel::OfBlock LearningModel::of(const Block& block, PolicyScratch& scratch) const {
  const std::int64_t logged = static_cast<std::int64_t>(columns() - 1) * kBlockRows;
  if (!held_.empty()) {
    const HeldBlock& here = held_[static_cast<std::size_t>(block.first_row / kBlockRows)];
    return {here.coefficients, here.columns.get() + logged};
  }
  double* out = scratch.columns(kModelColumnsSlot, columns());
  return {fill(block, scratch, out), out + logged};
}

}  // namespace scrm
