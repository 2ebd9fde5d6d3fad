#include "scrm/engine/regression/softmax_regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "regression/design_matrix.hpp"
#include "scrm/engine/learn/minimize.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Scores of this many numbers at a time: they stay in a core's cache, and memory is bounded whatever the rows.
constexpr std::int64_t kScoresAtOnce = 1 << 16;
constexpr double kUnseenShare = 0.05;

using Rows = std::span<const std::int64_t>;

/// The classes that occur, ascending.
std::vector<std::int32_t> seen_classes(const LabelledData& data, Rows rows) {
  std::vector<std::uint8_t> occurs(static_cast<std::size_t>(data.labels), 0);
  for (const std::int64_t row : rows)
    occurs[static_cast<std::size_t>(data.category[static_cast<std::size_t>(row)])] = 1;
  std::vector<std::int32_t> seen;
  for (std::int32_t k = 0; k < data.labels; ++k) {
    if (occurs[static_cast<std::size_t>(k)] != 0) seen.push_back(k);
  }
  return seen;
}

/// Mean log-loss of the rows with a ridge, and its gradient. Classes are numbered among those that occur.
class LogLoss {
 public:
  LogLoss(const LabelledData& data, Rows rows, const std::vector<std::int32_t>& seen)
      : classes_(seen.size()), width_(static_cast<std::size_t>(1 + data.features)), rows_(rows.size()) {
    const auto most = static_cast<std::size_t>(
        std::clamp<std::int64_t>(kScoresAtOnce / static_cast<std::int64_t>(classes_), 64, kScoresAtOnce));
    for (std::size_t first = 0; first < rows.size(); first += most) {
      parts_.emplace_back(data, rows.subspan(first, std::min(most, rows.size() - first)));
    }
    for (const std::int64_t row : rows) {
      const std::int32_t category = data.category[static_cast<std::size_t>(row)];
      category_.push_back(
          static_cast<std::size_t>(std::lower_bound(seen.begin(), seen.end(), category) - seen.begin()));
    }
    scores_.resize(std::min(most, rows.size()) * classes_);
    product_.resize(width_);
  }

  double operator()(const std::vector<double>& theta, std::vector<double>& gradient, double c) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    double loss = 0;
    std::size_t first = 0;
    for (const DesignMatrix& part : parts_) {
      loss += add_part(part, first, theta, gradient);
      first += static_cast<std::size_t>(part.rows());
    }
    const auto n = static_cast<double>(rows_);
    double squares = 0;
    for (std::size_t at = 0; at < theta.size(); ++at) {
      const double ridge = at % width_ == 0 ? 0.0 : theta[at];
      squares += ridge * ridge;
      gradient[at] = gradient[at] / n + ridge / (c * n);
    }
    return loss / n + squares / (2 * c * n);
  }

  /// Rows whose likeliest class, the first of equals, is theirs.
  std::int64_t count_correct(const std::vector<double>& theta) {
    std::int64_t correct = 0;
    std::size_t first = 0;
    for (const DesignMatrix& part : parts_) {
      const auto count = static_cast<std::size_t>(part.rows());
      for (std::size_t k = 0; k < classes_; ++k) part.scores(theta.data() + k * width_, scores_.data() + k * count);
      for (std::size_t i = 0; i < count; ++i) {
        std::size_t best = 0;
        for (std::size_t k = 1; k < classes_; ++k) {
          if (scores_[k * count + i] > scores_[best * count + i]) best = k;
        }
        correct += best == category_[first + i];
      }
      first += count;
    }
    return correct;
  }

 private:
  double add_part(const DesignMatrix& part, std::size_t first, const std::vector<double>& theta,
                  std::vector<double>& gradient) {
    const auto count = static_cast<std::size_t>(part.rows());
    for (std::size_t k = 0; k < classes_; ++k) part.scores(theta.data() + k * width_, scores_.data() + k * count);
    double loss = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double largest = scores_[i];
      for (std::size_t k = 1; k < classes_; ++k) largest = std::max(largest, scores_[k * count + i]);
      const std::size_t own = category_[first + i];
      loss += largest - scores_[own * count + i];
      double sum = 0;
      for (std::size_t k = 0; k < classes_; ++k) {
        double& score = scores_[k * count + i];
        score = std::exp(score - largest);
        sum += score;
      }
      loss += std::log(sum);
      for (std::size_t k = 0; k < classes_; ++k) scores_[k * count + i] /= sum;
      scores_[own * count + i] -= 1;
    }
    for (std::size_t k = 0; k < classes_; ++k) {
      part.transposed_product(scores_.data() + k * count, product_.data());
      for (std::size_t j = 0; j < width_; ++j) gradient[k * width_ + j] += product_[j];
    }
    return loss;
  }

  std::size_t classes_, width_, rows_;
  std::vector<DesignMatrix> parts_;
  std::vector<std::size_t> category_;
  std::vector<double> scores_, product_;
};

std::vector<double> minimized(LogLoss& loss, std::vector<double> start, double c,
                              const SoftmaxRegressionOptions& options) {
  MinimizeOptions search;
  search.max_iterations = options.max_iterations;
  search.tolerance = options.tolerance;
  const DifferentiableFunction function = [&](const std::vector<double>& theta, std::vector<double>& gradient) {
    return loss(theta, gradient, c);
  };
  return minimize(function, start, search).point;
}

void check_classes(const LabelledData& data, Rows rows, std::span<const double> candidates) {
  if (rows.empty()) throw Error(ErrorKind::data, "no rows to fit a softmax regression on", {.file = data.name});
  for (const double c : candidates) {
    if (std::isfinite(c) && c > 0) continue;
    throw Error(ErrorKind::usage, fmt::format("c is {}: the inverse of a ridge's strength must be above zero", c));
  }
}

}  // namespace

SoftmaxModel fit_softmax(const LabelledData& data, Rows rows, const SoftmaxRegressionOptions& options) {
  check_classes(data, rows, std::span(&options.c, 1));
  const std::vector<std::int32_t> seen = seen_classes(data, rows);
  const auto width = static_cast<std::size_t>(1 + data.features), classes = static_cast<std::size_t>(data.labels);
  std::vector<double> fitted(seen.size() * width, 0.0);
  if (seen.size() > 1) {
    LogLoss loss(data, rows, seen);
    fitted = minimized(loss, std::move(fitted), options.c, options);
  }
  SoftmaxModel model;
  model.c = options.c;
  model.theta.assign(classes * width, 0.0);
  const double unseen = static_cast<double>(classes - seen.size());
  const double odds = kUnseenShare / (1 - kUnseenShare) * static_cast<double>(seen.size());
  for (std::size_t k = 0; unseen > 0 && k < classes; ++k) model.theta[k * width] = std::log(odds / unseen);
  for (std::size_t k = 0; k < seen.size(); ++k) {
    std::copy_n(fitted.begin() + static_cast<std::ptrdiff_t>(k * width), width,
                model.theta.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(seen[k]) * width));
  }
  return model;
}

SoftmaxModel fit_softmax_held_out(const LabelledData& data, Rows rows, std::span<const double> candidates,
                                  const SoftmaxRegressionOptions& options) {
  if (candidates.empty()) throw Error(ErrorKind::usage, "no value of c to choose from: give at least one");
  check_classes(data, rows, candidates);
  SoftmaxRegressionOptions chosen = options;
  chosen.c = candidates.front();
  const std::size_t held = rows.size() / 4;
  const Rows train = rows.first(rows.size() - held), test = rows.last(held);
  // All classes of either part are fitted, so that both number them alike.
  const std::vector<std::int32_t> seen = seen_classes(data, rows);
  if (seen.size() > 1 && held > 0) {
    // From the strongest ridge to the weakest, so that every fit starts near its end.
    std::vector<double> ascending(candidates.begin(), candidates.end());
    std::sort(ascending.begin(), ascending.end());
    LogLoss loss(data, train, seen), judge(data, test, seen);
    std::vector<double> theta(seen.size() * static_cast<std::size_t>(1 + data.features), 0.0);
    std::int64_t most = -1;
    for (const double c : ascending) {
      theta = minimized(loss, std::move(theta), c, options);
      const std::int64_t correct = judge.count_correct(theta);
      if (correct <= most) continue;  // among equals the strongest ridge
      most = correct;
      chosen.c = c;
    }
  }
  return fit_softmax(data, rows, chosen);
}

}  // namespace scrm
