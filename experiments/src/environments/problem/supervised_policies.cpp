#include "environments/problem/supervised_policies.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "environments/problem/problem_factories.hpp"
#include "scrm/engine/regression/logistic_regression.hpp"
#include "scrm/engine/regression/softmax_regression.hpp"

namespace scrm {
namespace {

// A label with one class only among the rows gets that class with this probability.
constexpr double kOneClassProbability = 0.95;
constexpr std::array<double, 10> kSkylineC = {1e-4, 7.7e-4, 6e-3, 4.6e-2, 3.6e-1, 2.8, 2.2e1, 1.7e2, 1.3e3, 1e4};
constexpr int kSkylineFolds = 5;
// Fewer than for bits: the classes are fitted together, which takes far longer than a label at a time.
constexpr std::array<double, 5> kSkylineClassC = {1e-2, 1e-1, 1.0, 10.0, 100.0};
constexpr double kSharpness = 1000;

Policy zero_policy(const LabelledData& data) {
  Policy policy;
  policy.kind = data.multiclass ? PolicyKind::softmax : PolicyKind::multilabel;
  policy.outputs = data.labels;
  policy.mixing = Mixing::label;
  policy.theta.assign(static_cast<std::size_t>(data.labels * (1 + data.features)), 0.0);
  return policy;
}

Policy policy_of(const LabelledData& data, const std::vector<LogisticModel>& models, double bonus) {
  Policy policy = zero_policy(data);
  const auto width = static_cast<std::size_t>(policy.row_length());
  for (std::size_t k = 0; k < models.size(); ++k) {
    double* row = policy.theta.data() + k * width;
    if (models[k].single_class) {
      const double odds = std::log(kOneClassProbability / (1 - kOneClassProbability));
      row[0] = models[k].only_class ? odds : -odds;
      continue;
    }
    for (std::size_t j = 0; j < width; ++j) row[j] = models[k].beta[j] + bonus;
  }
  return policy;
}

}  // namespace

Policy fitted_bits(const LabelledData& data, std::span<const std::int64_t> rows, double bonus) {
  if (rows.empty()) return zero_policy(data);
  return policy_of(data, fit_logistic(data, rows, {}), bonus);
}

Policy skyline_bits(const LabelledData& data, std::span<const std::int64_t> rows) {
  return policy_of(data, fit_logistic_cv(data, rows, kSkylineC, kSkylineFolds, {}), 0.0);
}

Policy zero_bits(const LabelledData& data) {
  Policy policy = zero_policy(data);
  const auto width = static_cast<std::size_t>(policy.row_length());
  for (std::size_t at = 0; at < policy.theta.size(); at += width) policy.theta[at] = -kCertainScore;
  return policy;
}

Policy fitted_classes(const LabelledData& data, std::span<const std::int64_t> rows) {
  Policy policy = zero_policy(data);
  if (!rows.empty()) policy.theta = fit_softmax(data, rows, {}).theta;
  return policy;
}

Policy skyline_classes(const LabelledData& data, std::span<const std::int64_t> rows) {
  Policy policy = zero_policy(data);
  policy.theta = fit_softmax_held_out(data, rows, kSkylineClassC, {}).theta;
  return sharpened(std::move(policy));
}

Policy majority_policy(const LabelledData& data, std::span<const std::int64_t> rows) {
  const auto labels = static_cast<std::size_t>(data.labels);
  std::vector<std::int64_t> counts(labels, 0);
  for (const std::int64_t row : rows) {
    const auto at = static_cast<std::size_t>(row);
    if (data.multiclass) {
      ++counts[static_cast<std::size_t>(data.category[at])];
    } else {
      for (std::size_t k = 0; k < labels; ++k) counts[k] += data.label[at * labels + k];
    }
  }
  Policy policy = data.multiclass ? zero_policy(data) : zero_bits(data);
  const auto width = static_cast<std::size_t>(policy.row_length());
  if (data.multiclass) {
    const auto most = static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    policy.theta[most * width] = kSharpness;
    return policy;
  }
  for (std::size_t k = 0; k < labels; ++k) {
    if (2 * counts[k] > static_cast<std::int64_t>(rows.size())) policy.theta[k * width] = kCertainScore;
  }
  return policy;
}

Policy widened(Policy policy, std::int64_t features) {
  const auto old_length = static_cast<std::size_t>(policy.row_length()),
             length = static_cast<std::size_t>(1 + features);
  std::vector<double> theta(static_cast<std::size_t>(policy.outputs) * length, 0.0);
  for (std::size_t k = 0; k < static_cast<std::size_t>(policy.outputs); ++k) {
    std::copy_n(policy.theta.begin() + static_cast<std::ptrdiff_t>(k * old_length), old_length,
                theta.begin() + static_cast<std::ptrdiff_t>(k * length));
  }
  policy.theta = std::move(theta);
  return policy;
}

Policy sharpened(Policy policy) {
  for (double& theta : policy.theta) theta *= kSharpness;
  return policy;
}

}  // namespace scrm
