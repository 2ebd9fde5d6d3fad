#include "environments/problem/labelled_transforms.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "scrm/kernels/scores/fourier_features.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"
#include "scrm/kernels/vector/random.hpp"

namespace scrm {
namespace {

// A stream of the seed, next to those of rows.
constexpr std::uint32_t kProjectionStream = 0x9403;

/// The same rows and answers, with dense contexts of so many features, all zero.
LabelledData with_features(const LabelledData& data, std::int64_t features) {
  LabelledData out;
  out.name = data.name;
  out.rows = data.rows;
  out.features = features;
  out.labels = data.labels;
  out.multiclass = data.multiclass;
  out.label = data.label;
  out.category = data.category;
  out.context.assign(static_cast<std::size_t>(data.rows * features), 0.0);
  return out;
}

/// Mean and standard deviation of every feature over all rows; what is nothing but rounding counts as none, 0.
struct FeatureSpreads {
  std::vector<double> mean, deviation;
};

FeatureSpreads feature_spreads(const LabelledData& data) {
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
    square[j] = sd > 1e-12 * std::abs(mean[j]) ? sd : 0;
  }
  return {std::move(mean), std::move(square)};
}

}  // namespace

LabelledData with_fourier(const LabelledData& data, FourierFeatures map) {
  auto [mean, deviation] = feature_spreads(data);
  for (double& sd : deviation) sd = sd > 0 ? sd : 1;
  map.centre = std::move(mean);
  map.spread = std::move(deviation);
  if (map.bandwidth == 0) map.bandwidth = std::sqrt(static_cast<double>(data.features));
  const FourierTransform transform(map, data.features);
  LabelledData out = with_features(data, data.features + map.width);
  constexpr int kRows = 64;
  AlignedArray<double> x = make_aligned<double>(static_cast<std::size_t>(data.features) * kRows);
  AlignedArray<double> z = make_aligned<double>(static_cast<std::size_t>(map.width) * kRows);
  for (std::int64_t first = 0; first < data.rows; first += kRows) {
    const auto rows = static_cast<int>(std::min<std::int64_t>(kRows, data.rows - first));
    std::fill_n(x.get(), data.features * kRows, 0.0);
    for (int i = 0; i < rows; ++i) {
      double* row = out.context.data() + (first + i) * out.features;
      visit_row(data, first + i,
                [&](std::int64_t j, double value) { row[j] = x[static_cast<std::size_t>(j * kRows + i)] = value; });
    }
    transform.apply({x.get(), FloatType::f64, kRows, data.features, kRows}, 0, map.width, z.get(), kRows);
    for (int i = 0; i < rows; ++i) {
      double* row = out.context.data() + (first + i) * out.features + data.features;
      for (std::int64_t k = 0; k < map.width; ++k) row[k] = z[static_cast<std::size_t>(k * kRows + i)];
    }
  }
  return out;
}

LabelledData projected(const LabelledData& data, std::int64_t width, std::uint64_t seed) {
  std::vector<double> matrix(static_cast<std::size_t>(data.features * width));
  for (std::int64_t j = 0; j < data.features; ++j) {
    RandomStream random(seed, kProjectionStream, static_cast<std::uint64_t>(j));
    for (std::int64_t k = 0; k < width; ++k) {
      matrix[static_cast<std::size_t>(j * width + k)] = random.normal() / std::sqrt(static_cast<double>(width));
    }
  }
  LabelledData out = with_features(data, width);
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
  auto [mean, factors] = feature_spreads(data);
  for (double& factor : factors) factor = factor > 0 ? 1 / factor : 0;
  if (data.sparse) {
    for (std::size_t e = 0; e < data.values.size(); ++e) {
      const double factor = factors[static_cast<std::size_t>(data.indices[e])];
      if (factor > 0) data.values[e] *= factor;
    }
    return data;
  }
  for (std::size_t at = 0; at < data.context.size(); ++at) {
    data.context[at] = (data.context[at] - mean[at % features]) * factors[at % features];
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
