/// Policies made of right answers: what first policies, skylines and constant policies are of supervised data.
#pragma once

#include <cstdint>
#include <span>

#include "scrm/io/labelled/labelled_data.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// All have ε = 0; the problem that plays them sets what it compares by.

/// Bits: one logistic regression a label (C = 1) with a bonus on every coefficient; uniform without rows.
Policy fitted_bits(const LabelledData& data, std::span<const std::int64_t> rows, double bonus);
/// Bits: one logistic regression a label, C chosen by cross-validation.
Policy skyline_bits(const LabelledData& data, std::span<const std::int64_t> rows);
/// Bits: none is ever set.
Policy zero_bits(const LabelledData& data);

/// Classes: multinomial logistic regression (C = 1); uniform without rows.
Policy fitted_classes(const LabelledData& data, std::span<const std::int64_t> rows);
/// Classes: multinomial logistic regression, C chosen on rows held out, that plays the likeliest class.
Policy skyline_classes(const LabelledData& data, std::span<const std::int64_t> rows);

/// The majority of each bit, or the most frequent class, whatever the context.
Policy majority_policy(const LabelledData& data, std::span<const std::int64_t> rows);

/// The same policy of wider contexts, whose further features do not count.
Policy widened(Policy policy, std::int64_t features);

/// Plays what the policy thinks likeliest: its scores, so large that softmax or σ is as good as certain.
Policy sharpened(Policy policy);

}  // namespace scrm
