/// The size below which a coefficient of a gradient counts as zero.
#pragma once

namespace scrm {

/// 2^-970, with room for products of it that are still ordinary doubles. A policy that is nearly certain leaves
/// coefficients near the end of the doubles, and some processors take a hundred cycles for every product with such a
/// number: searches spent most of their time there, on terms that change no sum.
inline constexpr double kNegligible = 0x1p-970;

}  // namespace scrm
