/// Row-major tables, as files hold them, transposed into the columns of a block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// Column j of `rows` rows that begin `row_bytes` apart, at any address, goes to out + j * kBlockRows. Returns whether
/// every number lies in [low, high], without looking for the one that does not.
bool transpose_rows(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns, double low,
                    double high, double* out) noexcept;
bool transpose_rows(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns, float low, float high,
                    float* out) noexcept;

/// Whether all of `count` numbers that follow each other, at any address, lie in [low, high].
bool all_in_range(const std::byte* from, std::size_t count, double low, double high) noexcept;
bool all_in_range(const std::byte* from, std::size_t count, float low, float high) noexcept;

}  // namespace scrm
