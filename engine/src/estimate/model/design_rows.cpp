#include "estimate/model/design_rows.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "scrm/kernels/scores/context_matrix.hpp"
#include "scrm/kernels/scores/signed_sums.hpp"

namespace scrm {
namespace {

// What the model cannot say of a context is itself a sum over outputs, the same in all rows of that context; beside it
// rows have noise of their own, of this variance in units of one output's. Little depends on it.
constexpr double kOwnNoise = 0.5;
// Matrices of more rows are dearer to read than to make.
constexpr int kMostHeldReplays = 8;

using Matrix = Eigen::MatrixXd;

/// values = matrix · values for each context, of kReplays rows.
template <int kReplays>
void multiply(const double* matrices, int rows, double* values) {
  for (int first = 0; first < rows; first += kReplays, matrices += kReplays * kReplays) {
    double out[kReplays] = {};
    for (int s = 0; s < kReplays; ++s) {
      for (int r = 0; r < kReplays; ++r) out[r] += matrices[s * kReplays + r] * values[first + s];
    }
    std::copy_n(out, kReplays, values + first);
  }
}

}  // namespace

std::size_t DesignRows::held_bytes(const RidgeShape& shape, const Source& source) {
  const int replays = source.schema().replays;
  if (replays == 1 || replays > kMostHeldReplays || replays > conjugate_outputs(shape)) return 0;
  return static_cast<std::size_t>(source.rows()) * static_cast<std::size_t>(replays) * sizeof(double);
}

void DesignRows::hold(const Source& source) {
  held_.resize(static_cast<std::size_t>(source.rows()) * static_cast<std::size_t>(source.schema().replays));
  is_held_.resize(static_cast<std::size_t>(source.rows() / source.schema().replays));
}

void DesignRows::fill_factors(const Block& block, const std::uint8_t* keep, int first, double* out) const {
  for (int r = 0; r < block.replays; ++r) {
    for (int o = 0; o < outputs_; ++o) *out++ = keep[first + r] != 0 ? factor(block, o, first + r) : 0;
  }
}

void DesignRows::predict(const Block& block, const ScoreMatrix& matrix, PolicyScratch& scratch, double* columns,
                         double* out) const {
  if (block.replays > 1) {
    matrix.context_scores(block, columns);
    return predict_shared(block, columns, out);
  }
  matrix.scores(block, scratch, columns);
  std::fill_n(out, block.rows, 0.0);
  for (int o = 0; o < outputs_; ++o) {
    for (int i = 0; i < block.rows; ++i) out[i] += factor(block, o, i) * columns[cell(o, i)];
  }
}

void DesignRows::predict_shared(const Block& block, const double* scores, double* out) const {
  const int contexts = context_rows(block), replays = block.replays;
  for (int i = 0; i < block.rows; ++i)
    out[i] = kind_ == ActionKind::categorical ? scores[cell(block.category[i], i / replays)] : scores[i / replays];
  if (kind_ == ActionKind::categorical) return;
  for (int o = 1; o < outputs_; ++o) {
    const double* own = scores + cell(o, 0);
    if (kind_ == ActionKind::multilabel) {
      add_signed_scores(block.bits + cell(o - 1, 0), own, contexts, replays, out);
      continue;
    }
    for (int i = 0; i < block.rows; ++i) out[i] += factor(block, o, i) * own[i / replays];
  }
}

void DesignRows::shared_coefficients(const Block& block, const double* values, double* out) const {
  const int contexts = context_rows(block), replays = block.replays;
  for (int o = 0; o < outputs_; ++o) {
    double* own = out + cell(o, 0);
    std::fill(own + contexts, own + round_up_to_vectors(contexts), 0.0);  // products go over whole vectors
    if (kind_ == ActionKind::multilabel && o > 0) {
      signed_context_sums(block.bits + cell(o - 1, 0), values, contexts, replays, own);
      continue;
    }
    std::fill_n(own, contexts, 0.0);
    for (int i = 0; i < block.rows; ++i) own[i / replays] += factor(block, o, i) * values[i];
  }
}

const double* DesignRows::held_matrices(const Block& block, const std::uint8_t* keep) const {
  double* const all = held_.data() + block.first_row * block.replays;
  std::uint8_t& held = is_held_[static_cast<std::size_t>(block.first_row / block.replays)];
  if (held != 0) return all;
  const double unit = kind_ == ActionKind::categorical ? 1 : outputs_;
  Matrix factors(outputs_, block.replays), square;
  for (int first = 0; first < block.rows; first += block.replays) {
    fill_factors(block, keep, first, factors.data());
    square = factors.transpose().lazyProduct(factors);
    square.diagonal().array() += kOwnNoise;
    Eigen::Map<Matrix>(all + first * block.replays, block.replays, block.replays) =
        unit * square.llt().solve(Matrix::Identity(block.replays, block.replays));
  }
  held = 1;
  return all;
}

void DesignRows::whiten(const Block& block, const std::uint8_t* keep, double* values) const {
  if (block.replays == 1) return;
  if (!held_.empty()) {
    const double* matrices = held_matrices(block, keep);
    if (block.replays == 2) return multiply<2>(matrices, block.rows, values);
    if (block.replays == 4) return multiply<4>(matrices, block.rows, values);
    return multiply<kMostHeldReplays>(matrices, block.rows, values);
  }
  const bool by_rows = block.replays <= outputs_;
  Matrix factors(outputs_, block.replays), square;
  Eigen::LLT<Matrix> cholesky;
  const double unit = kind_ == ActionKind::categorical ? 1 : outputs_;
  for (int first = 0; first < block.rows; first += block.replays) {
    Eigen::Map<Eigen::VectorXd> of_context(values + first, block.replays);
    if (of_context.isZero(0)) continue;  // all of a fold that is left out
    fill_factors(block, keep, first, factors.data());
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
