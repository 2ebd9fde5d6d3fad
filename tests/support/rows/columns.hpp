/// Columns: aligned memory for blocks made by hand, and the largest error seen while comparing arrays, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "scrm/kernels/vector/aligned_array.hpp"

namespace scrm::testing {

/// `count` columns of kBlockRows values, aligned as blocks promise and set to one value.
template <class T>
class Columns {
 public:
  explicit Columns(std::int64_t count = 1, T value = T{})
      : data_(make_aligned_for_overwrite<T>(static_cast<std::size_t>(count) * kBlockRows)) {
    std::fill_n(data_.get(), count * kBlockRows, value);
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::int64_t i) { return data_[static_cast<std::size_t>(i)]; }
  const T& operator[](std::int64_t i) const { return data_[static_cast<std::size_t>(i)]; }
  T& at(int row, std::int64_t column) { return (*this)[column * kBlockRows + row]; }
  const T& at(int row, std::int64_t column) const { return (*this)[column * kBlockRows + row]; }

 private:
  AlignedArray<T> data_;
};

inline double uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

inline double normal(std::mt19937_64& random) {
  return std::normal_distribution<double>()(random);
}

/// |actual − expected| / scale; 0 when both are the same infinity, infinite when only one is a number.
inline double relative_error(double actual, long double expected, long double scale) {
  if (static_cast<double>(expected) == actual) return 0;
  if (!std::isfinite(actual) || !std::isfinite(expected)) return std::numeric_limits<double>::infinity();
  const long double error = std::abs(static_cast<long double>(actual) - expected);
  return error == 0 ? 0 : static_cast<double>(error / scale);
}

inline double relative_error(double actual, long double expected) {
  return relative_error(actual, expected, std::abs(expected));
}

/// The largest of many errors: one check for a whole array, and the place to look at when it fails.
struct Worst {
  double error = 0;
  std::int64_t place = -1;

  void add(std::int64_t at, double another) {
    if (!(another <= error)) {
      error = std::isnan(another) ? std::numeric_limits<double>::infinity() : another;
      place = at;
    }
  }
};

}  // namespace scrm::testing
