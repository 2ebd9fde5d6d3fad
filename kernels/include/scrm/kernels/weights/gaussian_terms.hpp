/// The learning objective of a linear gaussian policy, terms and gradients, in one loop over a block.
#pragma once

#include <cstdint>

#include "scrm/kernels/weights/gaussian_weights.hpp"
#include "scrm/kernels/weights/learning_terms.hpp"

namespace scrm {

/// Features up to which a few rows of the context stay in the first-level cache between scores and gradients.
inline constexpr std::int64_t kMaxGaussianTermsFeatures = 32;

/// For a dense block of 1 to kMaxGaussianTermsFeatures features: the terms of learning_terms, and the gradients by θ
/// risk_gradient = Σ ∂(transform(w) y) and variance_gradient = Σ (z − z̄) ∂z, z the variance term and z̄ its mean over
/// the block; 1 + features numbers each. Every number of the block is read from memory once. The transform is not
/// `given`.
LearningTerms gaussian_terms(const Block& block, const std::uint8_t* keep, const LinearGaussian& policy,
                             const TermOptions& options, double* risk_gradient, double* variance_gradient) noexcept;

}  // namespace scrm
