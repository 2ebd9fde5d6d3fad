/// A multilabel policy on contexts that several rows share: everything but the bits is computed once for each context.
#pragma once

#include "scrm/kernels/block.hpp"

namespace scrm {

/// For one context, log π(bits) = base + Σ_k bit_k gain_k and ∂ log π(bits)/∂ score_k = fall_k + bit_k rise_k. Columns
/// of one number a context; those of several labels lie kBlockRows apart.
struct LabelParts {
  double* gain = nullptr;  ///< holds the scores before
  double* base = nullptr;
  double* fall = nullptr;
  double* rise = nullptr;  ///< null without mixing, where it is 1
};

/// Fills the parts of `contexts` contexts (and of more, up to whole vectors) from the scores in parts.gain; every label
/// is mixed with ε/2.
void label_parts(int contexts, int labels, double epsilon, const LabelParts& parts) noexcept;

/// out[i] = log π(bits of row i) for the valid rows of a block; 0 past them.
void replayed_log_probability(const Block& block, const LabelParts& parts, double* out) noexcept;

/// out[k kBlockRows + c] = Σ_i row[i] ∂ log π(bits of row i)/∂ score_k over the rows of context c: what the context is
/// multiplied with in a gradient. Zero past the valid contexts, up to whole vectors.
void replayed_coefficients(const Block& block, const LabelParts& parts, const double* row, double* out) noexcept;

}  // namespace scrm
