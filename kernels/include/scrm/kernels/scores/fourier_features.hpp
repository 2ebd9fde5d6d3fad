/// Random Fourier features: columns whose products approximate a gaussian kernel, made of a seed.
#pragma once

#include <cstdint>

#include "scrm/kernels/policy.hpp"
#include "scrm/kernels/scores/context_matrix.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"

namespace scrm {

/// The map z(x) of policies with FeatureMap::fourier, ready to be applied to contexts of so many columns:
///   z_k(x) = √(2/D) cos(ω_k · (x − centre) / (spread bandwidth) + b_k),  k < D,
/// ω_k standard normal and b_k uniform on (0, 2π), both drawn from the stream of (seed, k): first b_k, then the numbers
/// of ω_k in the order of the map's inputs. On average over seeds z(x)·z(y) = exp(−|x − y|² / (2 bandwidth²)),
/// distances in spreads.
class FourierTransform {
 public:
  /// `columns` is how many features contexts have; those that are not among the map's inputs do not count.
  FourierTransform(const FourierFeatures& map, std::int64_t columns);

  std::int64_t width() const noexcept { return width_; }
  /// out[(k − first) stride + i] = z_k of row i for k in [first, first + count): all rows of x, a multiple of 16. The
  /// bits of a row do not depend on where it stands, nor on what is asked for beside it.
  void apply(const ContextMatrix& x, std::int64_t first, std::int64_t count, double* out,
             std::int64_t stride) const noexcept;

  /// Bytes that it holds.
  static std::size_t bytes(std::int64_t width, std::int64_t columns) noexcept;

 private:
  std::int64_t width_, columns_;
  AlignedArray<double> centre_, phase_;
  AlignedArray<double> frequency_;  // width rows of `columns` numbers
};

}  // namespace scrm
