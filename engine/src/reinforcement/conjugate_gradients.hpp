/// Conjugate gradients for a symmetric positive definite matrix that is known by its products.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace scrm {

/// out = A v.
using MatrixProduct = std::function<void(std::span<const double> v, std::span<double> out)>;

/// x with A x ≈ b after at most so many steps from 0; fewer once |b − A x|² is below `tolerance`.
std::vector<double> conjugate_gradients(const MatrixProduct& product, std::span<const double> b, int steps,
                                        double tolerance);

/// a · b.
double dot(std::span<const double> a, std::span<const double> b) noexcept;

}  // namespace scrm
