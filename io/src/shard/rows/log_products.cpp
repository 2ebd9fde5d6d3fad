#include "shard/rows/log_products.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "scrm/kernels/block.hpp"

namespace scrm {
namespace {

// Rows whose products are formed together: two cache lines of every column.
constexpr int kProductRows = 16;

/// Of at most kProductRows rows.
void log_products_of_few(const double* labels, int rows, int columns, double* out) noexcept {
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  constexpr int kFactorsAtOnce = 512;  // 2^512 is far from overflow
  std::fill_n(out, rows, 0.0);
  for (int first = 0; first < columns; first += kFactorsAtOnce) {
    double product[kProductRows];
    std::int64_t exponent[kProductRows] = {};
    std::fill_n(product, kProductRows, 1.0);
    for (int k = first; k < std::min(first + kFactorsAtOnce, columns); ++k) {
      const double* column = labels + std::int64_t{k} * kBlockRows;
      for (int i = 0; i < rows; ++i) {
        // Subnormal numbers have no mantissa in [1, 2) until they are scaled.
        const bool tiny = column[i] < 0x1p-1000;
        const auto bits = std::bit_cast<std::uint64_t>(tiny ? column[i] * 0x1p+100 : column[i]);
        exponent[i] += static_cast<std::int64_t>(bits >> 52) - (tiny ? 1123 : 1023);
        product[i] *= std::bit_cast<double>((bits & kMantissa) | kOne);
      }
    }
    for (int i = 0; i < rows; ++i) {
      out[i] += std::log(product[i]) + static_cast<double>(exponent[i]) * std::numbers::ln2;
    }
  }
}

}  // namespace

void log_products(const double* labels, int rows, int columns, double* out) noexcept {
  for (int i = 0; i < rows; i += kProductRows) {
    log_products_of_few(labels + i, std::min(kProductRows, rows - i), columns, out + i);
  }
}

}  // namespace scrm
