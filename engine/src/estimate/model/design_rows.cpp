#include "estimate/model/design_rows.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace scrm {
namespace {

// What the model cannot say of a context is itself a sum over outputs, the same in all rows of that context; beside it
// rows have noise of their own, of this variance in units of one output's. Little depends on it.
constexpr double kOwnNoise = 0.5;

}  // namespace

void DesignRows::whiten(const Block& block, const std::uint8_t* keep, double* values) const {
  if (block.replays == 1) return;
  const bool by_rows = block.replays <= outputs_;
  Eigen::MatrixXd factors(outputs_, block.replays), square;
  Eigen::LLT<Eigen::MatrixXd> cholesky;
  const double unit = kind_ == ActionKind::categorical ? 1 : outputs_;
  for (int first = 0; first < block.rows; first += block.replays) {
    Eigen::Map<Eigen::VectorXd> of_context(values + first, block.replays);
    if (of_context.isZero(0)) continue;  // all of a fold that is left out
    for (int r = 0; r < block.replays; ++r) {
      for (int o = 0; o < outputs_; ++o) factors(o, r) = keep[first + r] != 0 ? factor(block, o, first + r) : 0;
    }
    if (by_rows) {
      square = factors.transpose().lazyProduct(factors);
    } else {
      square = factors.lazyProduct(factors.transpose());
    }
    square.diagonal().array() += kOwnNoise;
    cholesky.compute(square);
    if (by_rows) {
      of_context = unit * cholesky.solve(of_context);
    } else {
      const Eigen::VectorXd shared = cholesky.solve(factors * of_context);
      of_context = unit / kOwnNoise * (of_context - factors.transpose() * shared);
    }
  }
}

}  // namespace scrm
