// labels: fast isa
#include "scrm/kernels/scores/transpose.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// A table of random numbers whose rows lie `gap` numbers apart, beginning at an odd address.
template <class T>
struct Table {
  Table(int rows, std::int64_t columns, std::int64_t gap)
      : width(columns + gap), numbers(static_cast<std::size_t>(rows * width)) {
    std::mt19937_64 random(3);
    for (T& number : numbers) number = static_cast<T>(normal(random));
    bytes.resize(numbers.size() * sizeof(T) + 1);
    update();
  }

  void set(int row, std::int64_t column, T value) {
    numbers[static_cast<std::size_t>(row * width + column)] = value;
    update();
  }
  T at(int row, std::int64_t column) const { return numbers[static_cast<std::size_t>(row * width + column)]; }
  const std::byte* data() const { return bytes.data() + 1; }
  std::size_t row_bytes() const { return static_cast<std::size_t>(width) * sizeof(T); }

  std::int64_t width;
  std::vector<T> numbers;
  std::vector<std::byte> bytes;

 private:
  void update() { std::memcpy(bytes.data() + 1, numbers.data(), numbers.size() * sizeof(T)); }
};

template <class T>
void check_shapes() {
  constexpr T kMax = std::numeric_limits<T>::max();
  for (const int rows : {1, 3, 4, 8, 17, 130, kBlockRows}) {
    for (const std::int64_t columns : {1, 2, 3, 4, 7, 10, 33, 300}) {
      for (const std::int64_t gap : {0, 3}) {
        CAPTURE(rows);
        CAPTURE(columns);
        CAPTURE(gap);
        const Table<T> table(rows, columns, gap);
        Columns<T> out(columns);
        CHECK(transpose_rows(table.data(), table.row_bytes(), rows, columns, -kMax, kMax, out.data()));
        bool equal = true;
        for (int i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) equal &= out[j * kBlockRows + i] == table.at(i, j);
        }
        CHECK(equal);
      }
    }
  }
}

template <class T>
void check_range() {
  constexpr T kMax = std::numeric_limits<T>::max();
  constexpr int kRows = 21;
  constexpr std::int64_t kColumns = 7;
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), static_cast<T>(-101)}) {
    for (int row = 0; row < kRows; ++row) {
      for (std::int64_t column = 0; column < kColumns; ++column) {
        Table<T> table(kRows, kColumns, 0);
        table.set(row, column, bad);
        Columns<T> out(kColumns);
        CHECK_FALSE(transpose_rows(table.data(), table.row_bytes(), kRows, kColumns, T{-100}, T{100}, out.data()));
        CHECK_FALSE(all_in_range(table.data(), kRows * kColumns, T{-100}, T{100}));
        const bool finite = std::isfinite(bad);
        CHECK(transpose_rows(table.data(), table.row_bytes(), kRows, kColumns, -kMax, kMax, out.data()) == finite);
        CHECK(all_in_range(table.data(), kRows * kColumns, -kMax, kMax) == finite);
      }
    }
    Table<T> list(99, 1, 0);
    Columns<T> out(1);
    for (int row = 0; row < 99; ++row) {
      const T before = list.at(row, 0);
      list.set(row, 0, bad);
      CHECK_FALSE(transpose_rows(list.data(), sizeof(T), 99, 1, T{-100}, T{100}, out.data()));
      list.set(row, 0, before);
    }
    CHECK(transpose_rows(list.data(), sizeof(T), 99, 1, T{-100}, T{100}, out.data()));
  }
}

}  // namespace

TEST_CASE("transpose_rows: every number in its column, whatever the shape, the gap between rows and the address") {
  every_isa([] {
    check_shapes<double>();
    check_shapes<float>();
  });
}

TEST_CASE("transpose_rows, all_in_range: a number outside the range is noticed wherever it stands") {
  every_isa([] {
    check_range<double>();
    check_range<float>();
  });
}
