#include "environments/problem/labelled_transforms.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "scrm/kernels/vector/random.hpp"

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
  out.multiclass = data.multiclass;
  out.label = data.label;
  out.category = data.category;
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

LabelledData standardized(LabelledData data) {
  const auto features = static_cast<std::size_t>(data.features);
  const auto n = static_cast<double>(std::max<std::int64_t>(1, data.rows));
  std::vector<double> mean(features, 0.0), square(features, 0.0);
  const auto each = [&data](const auto& visit) {
    for (std::int64_t i = 0; i < data.rows; ++i) visit_row(data, i, visit);
  };
  each([&](std::int64_t j, double value) { mean[static_cast<std::size_t>(j)] += value / n; });
  // Entries that sparse rows leave out are as far from the mean as zero is.
  std::vector<double> entries(features, 0.0);
  each([&](std::int64_t j, double value) {
    const auto at = static_cast<std::size_t>(j);
    square[at] += (value - mean[at]) * (value - mean[at]);
    entries[at] += 1;
  });
  for (std::size_t j = 0; j < features; ++j) {
    square[j] += (n - entries[j]) * mean[j] * mean[j];
    const double sd = std::sqrt(square[j] / n);
    // A spread of nothing but rounding is none.
    square[j] = sd > 1e-12 * std::abs(mean[j]) ? 1 / sd : 0;
  }
  if (data.sparse) {
    for (std::size_t e = 0; e < data.values.size(); ++e) {
      const double factor = square[static_cast<std::size_t>(data.indices[e])];
      if (factor > 0) data.values[e] *= factor;
    }
    return data;
  }
  for (std::size_t at = 0; at < data.context.size(); ++at) {
    data.context[at] = (data.context[at] - mean[at % features]) * square[at % features];
  }
  return data;
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
