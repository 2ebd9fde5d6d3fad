#include "environments/labelled_transforms.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "scrm/kernels/random.hpp"

namespace scrm {
namespace {

// A stream of the seed, next to those of rows.
constexpr std::uint32_t kProjectionStream = 0x9403;

}  // namespace

LabelledData projected(const LabelledData& data, std::int64_t width, std::uint64_t seed) {
  std::vector<double> matrix(static_cast<std::size_t>(data.features * width));
  for (std::int64_t j = 0; j < data.features; ++j) {
    RandomStream random(seed, kProjectionStream, static_cast<std::uint64_t>(j));
    for (std::int64_t k = 0; k < width; ++k) {
      matrix[static_cast<std::size_t>(j * width + k)] = random.normal() / std::sqrt(static_cast<double>(width));
    }
  }
  LabelledData out;
  out.name = data.name;
  out.rows = data.rows;
  out.features = width;
  out.labels = data.labels;
  out.label = data.label;
  out.context.assign(static_cast<std::size_t>(data.rows * width), 0.0);
  for (std::int64_t i = 0; i < data.rows; ++i) {
    double* row = out.context.data() + i * width;
    visit_row(data, i, [&](std::int64_t j, double value) {
      const double* weights = matrix.data() + j * width;
      for (std::int64_t k = 0; k < width; ++k) row[k] += value * weights[k];
    });
  }
  return out;
}

LabelledData of_unit_length(LabelledData data) {
  for (std::int64_t i = 0; i < data.rows; ++i) {
    double square = 0;
    visit_row(data, i, [&](std::int64_t, double value) { square += value * value; });
    if (square == 0) continue;
    const double factor = 1 / std::sqrt(square);
    const auto scale = [factor](double& value) { value *= factor; };
    if (data.sparse) {
      std::for_each(data.values.begin() + data.indptr[static_cast<std::size_t>(i)],
                    data.values.begin() + data.indptr[static_cast<std::size_t>(i) + 1], scale);
    } else {
      std::for_each_n(data.context.begin() + i * data.features, data.features, scale);
    }
  }
  return data;
}

}  // namespace scrm
