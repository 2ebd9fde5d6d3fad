// labels: fast
#include "scrm/kernels/weights/moments.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "scrm/kernels/vector/aligned_array.hpp"

using namespace scrm;

TEST_CASE("moments_around: count, squares and range of the values, whatever their type") {
  const std::vector<float> values = {3, -1, 4, 2};
  const Moments moments = moments_around(2, values.data(), std::ssize(values));
  CHECK(moments.count == 4);
  CHECK(moments.mean == 2);
  CHECK(moments.square_sum == 14);
  CHECK(moments.lowest == -1);
  CHECK(moments.highest == 4);
}

TEST_CASE("moments_around: no values are empty moments, which merge without a trace") {
  const Moments none = moments_around<double>(0, nullptr, 0);
  CHECK(none.count == 0);
  CHECK(none.lowest == std::numeric_limits<double>::infinity());
  Moments one = Moments::of(5);
  one.merge(none);
  CHECK(one.count == 1);
  CHECK(one.mean == 5);
}

TEST_CASE("aligned arrays: begin where columns may, are zero when asked for, and none is null") {
  CHECK(make_aligned<double>(0) == nullptr);
  for (const std::size_t count : {1, 3, 64, 2049}) {
    CAPTURE(count);
    // Memory that is used again would not be zero by itself.
    auto dirty = make_aligned_for_overwrite<std::uint8_t>(count);
    std::fill_n(dirty.get(), count, std::uint8_t{7});
    dirty.reset();
    const AlignedArray<std::uint8_t> array = make_aligned<std::uint8_t>(count);
    CHECK(reinterpret_cast<std::uintptr_t>(array.get()) % kColumnAlignment == 0);
    CHECK(std::count(array.get(), array.get() + count, 0) == static_cast<std::ptrdiff_t>(count));
  }
}

TEST_CASE("moments: the mean of losses near the largest double is a number, in one block and over several") {
  constexpr double kLarge = 1.7e308;
  const std::vector<double> equal(60, kLarge);
  CHECK(mean_of_large(equal.data(), 60) == kLarge);
  std::vector<double> both(60, kLarge);
  for (std::size_t i = 0; i < 60; i += 2) both[i] = -kLarge;
  CHECK(std::abs(mean_of_large(both.data(), 60)) <= 1e-13 * kLarge);
  Moments all = Moments::of(kLarge);
  all.merge(Moments::of(-kLarge));
  all.merge(Moments::of(-kLarge));
  CHECK(all.mean == doctest::Approx(-kLarge / 3));
  CHECK(all.lowest == -kLarge);
  CHECK(std::isinf(all.square_sum));
}
