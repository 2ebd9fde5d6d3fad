/// log_products: the propensity of a row of labels from those of its bits.
#pragma once

namespace scrm {

/// out[i] = log of the product over columns, kBlockRows apart, of labels[i]. Mantissas in [1, 2) multiply and exponents
/// add, so that one logarithm a row is enough and hundreds of labels do not underflow.
void log_products(const double* labels, int rows, int columns, double* out) noexcept;

}  // namespace scrm
